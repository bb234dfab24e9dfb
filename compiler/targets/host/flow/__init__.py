"""What is known of a kernel's blocks before it is cut: where ways meet and end, which values live, which all share."""
