"""What `gridjit report` shows of a cache or a trace: gathered as values, then written as a page or as text."""
