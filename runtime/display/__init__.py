"""How kernels, specializations, statistics and explanations look in a terminal and in a notebook."""
