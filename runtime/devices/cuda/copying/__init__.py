"""Copies within a GPU that the driver's pitched copies cannot do: gridjit's kernels for them, and the choice of one."""
