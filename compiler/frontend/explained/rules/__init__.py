"""What is wrong and what to do, for each kind of failure: one file for each part of the language."""
