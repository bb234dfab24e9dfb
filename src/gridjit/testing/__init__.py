"""What tests of other packages need to run with gridjit underneath."""
