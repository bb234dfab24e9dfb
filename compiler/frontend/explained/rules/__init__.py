"""What is wrong and what to do, for each kind of failure: one file for each part of the language.

A rule is a function from a Failure to a Finding, or None if the failure is not of its kind.
"""
