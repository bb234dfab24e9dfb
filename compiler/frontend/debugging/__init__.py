"""Checks that debug=True adds to a kernel: named accesses, checked indices, flags of assignment."""
