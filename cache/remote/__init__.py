"""Remote caches: addresses, transports that get and put bytes by name, writers, and the tier that is asked."""
