"""The front end: a job in, typed and lowered LLVM IR out. The only place that imports numba and numba-cuda."""
