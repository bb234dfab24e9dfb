"""Arrays that a kernel only adds to: a run of blocks does so in a copy of its own, which is merged at its end."""
