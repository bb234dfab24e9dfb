"""Compiled callees, kept for later compiles as long as compiling again would give the same."""
