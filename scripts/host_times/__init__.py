"""What scripts/bench-host.py is made of: kernels with their peers, a module for each group, and how they are timed."""
