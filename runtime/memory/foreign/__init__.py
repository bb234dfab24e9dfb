"""Arrays that others own: how each protocol is read, and arrays of ours over such memory."""
