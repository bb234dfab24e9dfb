"""What a compile sees of its launch, each read of it recorded."""
