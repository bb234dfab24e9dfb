"""gridjit under numba.cuda's names, in this process: for programs and packages that import numba.cuda themselves."""
