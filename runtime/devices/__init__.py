"""Devices: load artifacts and launch them."""
