"""Analyses, which change nothing: control flow, uniformity, affine values, loops, barriers, pointers, layouts."""
