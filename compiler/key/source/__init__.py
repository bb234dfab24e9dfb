"""The source of a kernel: its code, the values it refers to and everything it can call, as labelled texts."""
