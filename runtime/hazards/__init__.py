"""The checker of hazards between streams, which GRIDJIT_CHECK_STREAMS turns on. Otherwise none of this is imported."""
