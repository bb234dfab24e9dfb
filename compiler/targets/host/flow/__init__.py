"""Analyses of a kernel's control flow before it is cut: where paths meet and end, which values live or are uniform."""
