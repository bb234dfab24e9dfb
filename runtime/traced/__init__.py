"""GRIDJIT_TRACE: a process's compiles and launches, in a file that trace viewers open."""
