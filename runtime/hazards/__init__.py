"""The checker of hazards between streams: what GRIDJIT_CHECK_STREAMS turns on. Nothing of it is imported otherwise."""
