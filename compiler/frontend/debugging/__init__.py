"""What compiles with debug=True have added to a kernel: checked indices, named accesses, flags of assignment."""
