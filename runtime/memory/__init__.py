"""Device memory: arrays on the device that kernels run on, how they are made, and how they are copied."""
