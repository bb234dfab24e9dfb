"""Dependences that are found only while a compile runs, recorded then and checked at look-up."""
