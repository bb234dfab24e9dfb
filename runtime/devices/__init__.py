"""Devices: what loads artifacts and launches them."""
