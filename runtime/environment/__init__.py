"""The process's environment: settings, and the warnings, tracebacks and simulated GPU that they choose."""
