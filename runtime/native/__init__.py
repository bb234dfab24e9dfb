"""The launch function in machine code: checks and packs the arguments as a table says, and calls the driver."""
