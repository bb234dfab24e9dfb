"""Processes that compile for others: a pool's workers and the compile server."""
