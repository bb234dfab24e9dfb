"""The host's streams: queues of work, the threads that do it, and what machine code has to know of them."""
