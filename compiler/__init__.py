"""A job in, an artifact out. Holds no device handle and no store."""
