"""Functions that device code calls, written for the host: inline PTX, the `__nv_` functions, printing, allocation."""
