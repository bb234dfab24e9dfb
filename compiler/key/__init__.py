"""The key of a job: all that may change its code and is known before it compiles."""
