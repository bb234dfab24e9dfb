"""LLVM for this processor: its features, modules that are parsed, optimized and emitted, objects that are loaded."""
