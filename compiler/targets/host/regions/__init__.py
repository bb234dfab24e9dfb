"""A kernel cut at its barriers into regions, each of which a thread runs to its end without waiting."""
