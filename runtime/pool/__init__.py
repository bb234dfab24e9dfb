"""Processes that compile for this one: what is handed over, how it gets there, and what became of it."""
