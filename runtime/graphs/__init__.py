"""Launch graphs: work that is recorded once and run as often as wanted, for less than giving it piece by piece."""
