"""Streams and events, the host's queues of work and their threads, and the attention that machine code owes them."""
