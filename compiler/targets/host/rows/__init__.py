"""How a row of threads is run: the values that are linear along it, plain rows, rare threads, parts that agree."""
