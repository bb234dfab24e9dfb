"""What a compile turns out to depend on while it runs: recorded then, and checked at each look-up."""
