"""The order in which threads run: rows and their bounds, blocks run as one, iterations of loops run together."""
