"""Modules with which other packages' tests run on gridjit."""
