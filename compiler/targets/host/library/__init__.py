"""What device code calls on the host: intrinsics, inline PTX and the `__nv_` functions."""
