"""What other packages' tests need to run on gridjit."""
