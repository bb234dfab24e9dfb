"""The key of a job: everything that may change its code and is known before it compiles."""
