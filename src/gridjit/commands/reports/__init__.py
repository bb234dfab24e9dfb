"""The report of `gridjit report` on a cache or a trace: gathered as values, then written as a page or as text."""
