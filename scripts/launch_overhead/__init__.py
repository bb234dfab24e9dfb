"""What bench-launch-overhead is made of: cases to time, programs that time them, and ways to show the rows."""
