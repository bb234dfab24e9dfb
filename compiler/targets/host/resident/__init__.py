"""Blocks that wait for others: the loops in which they wait, and the code that leaves them and resumes them."""
