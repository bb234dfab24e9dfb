"""The user's call, the device, the launch."""
