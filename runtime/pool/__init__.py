"""Processes that compile for this process: requests, transport, outcomes."""
