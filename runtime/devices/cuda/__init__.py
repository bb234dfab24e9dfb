"""The CUDA device: loads cubins into the driver, launches them, and owns the handles that end with a context."""
