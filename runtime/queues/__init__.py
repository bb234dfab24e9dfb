"""The host's streams: queues of work, the threads that do it, and what machine code must know about them."""
