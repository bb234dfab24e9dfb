"""LEFT_ALONE: numba-cuda's tests of its own memory and driver, which keep numba-cuda's functions."""

# Its queue of deallocations, its plugins, its handles, how its driver begins.
LEFT_ALONE = ("test_deallocations", "test_emm_plugins", "test_host_alloc", "test_init", "test_ipc")
