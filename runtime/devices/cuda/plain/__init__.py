"""The driver through ctypes: the calls that most programs need, without importing cuda.bindings."""
