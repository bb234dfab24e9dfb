"""What a process tells of its compiles and launches, in a file that trace viewers open: GRIDJIT_TRACE."""
