"""The simulated GPU: a real GPU's answers, contexts, counted memory, limits."""
