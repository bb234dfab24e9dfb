"""The block scheduler: a kernel's entry, loops over blocks, and the function that takes a block through its regions."""
