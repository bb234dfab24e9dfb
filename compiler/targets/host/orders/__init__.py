"""In which order threads are run: rows and their bounds, blocks run as one, turns of loops taken together."""
