"""Arrays that a kernel only adds to: each run of blocks adds to its own copy, which is merged at the end of the run."""
