"""Launch graphs: work that is recorded once and run any number of times, at a lower cost than launch by launch."""
