"""Common to all layers: values, locks that survive forks, interrupts, stacks, messages, digests, readers of text."""
