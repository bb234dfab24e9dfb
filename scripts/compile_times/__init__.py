"""What scripts/bench-compile.py is made of: the kernels, the processes that compile them, scenarios and tables."""
