"""Blocks that wait for others: the loops in which they wait, and the code that suspends and resumes them."""
