"""Passes, a file each: a kernel's body in, a changed body out, up to the text of its regions."""
