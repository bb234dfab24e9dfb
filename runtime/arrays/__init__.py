"""Arrays, buffers and views on the current device: made, copied, and taken over from other libraries."""
