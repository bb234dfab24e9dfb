"""The source of a kernel: its code, the values it refers to and all that it can call, as labelled texts."""
