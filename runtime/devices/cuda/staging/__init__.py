"""Copies between a GPU and memory of the host's that the driver cannot copy by itself."""
