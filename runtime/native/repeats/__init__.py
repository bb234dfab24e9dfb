"""Launches that were checked for hazards before, found again by machine code."""
