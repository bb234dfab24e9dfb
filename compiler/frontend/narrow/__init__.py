"""What contexts are made without until a compile meets it: floats of 16 and 8 bits, libdevice, vector types."""
