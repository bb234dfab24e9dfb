"""From a call to a launch: what is ready is launched, what is not is prepared first."""
