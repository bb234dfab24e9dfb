"""Remote caches: their addresses, and transports that get and put bytes by name."""
