"""State that all kernels of a process share: the session, the current device, the key that signs cache entries."""
