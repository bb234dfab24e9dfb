"""Bytes by key, on disk and in memory. Knows neither CUDA nor compiling."""
