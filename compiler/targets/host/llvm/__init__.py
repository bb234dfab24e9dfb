"""LLVM for this processor: what the processor offers, how code is optimized and emitted, how objects are loaded."""
