"""The GPU that the host stands in for: what a real one answers, contexts, memory that is counted, limits."""
