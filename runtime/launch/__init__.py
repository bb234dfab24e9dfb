"""From a call to a launch: what is ready is launched; the rest is prepared first."""
