"""The fault and the way on for each kind of failure: one file for each part of the language."""
