"""The GPU that the host stands in for: a real one's answers, contexts, counted memory, limits."""
