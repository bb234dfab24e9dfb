"""What device code calls, implemented for the host: intrinsics, inline PTX and the `__nv_` functions."""
