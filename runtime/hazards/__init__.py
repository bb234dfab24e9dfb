"""The checker of hazards between streams, which GRIDJIT_CHECK_STREAMS turns on. Otherwise it is not imported."""
