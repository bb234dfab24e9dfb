"""The host's streams: queues of work, their threads, and their state for machine code."""
