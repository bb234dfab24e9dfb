"""The commands that compile: ahead of a program, or while it waits."""
