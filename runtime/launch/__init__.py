"""From a call to a launch: ready launches are made; other launches are prepared first."""
