"""jit(tiered=True): generic code serves launches while another process compiles the specialized code."""
