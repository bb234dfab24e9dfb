"""Deferred registries, which contexts load once a compile meets them: floats of 16 and 8 bits, libdevice, vectors."""
