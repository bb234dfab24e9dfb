"""gridjit: a launch-config-aware JIT compiler for GPU kernels, with a specialization cache."""
