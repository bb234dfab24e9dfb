"""Values that a compile takes and gives: options, signature, configuration, target, footprint, artifact, errors."""
