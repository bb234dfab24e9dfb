"""The cache beyond the machine: entries in a place that many machines share, and who may write them."""
