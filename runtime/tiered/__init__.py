"""jit(tiered=True): generic code serves launches while the code that is specialized for them is compiled elsewhere."""
