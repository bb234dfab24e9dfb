"""language: the table of the names that kernels may use, which docs/kernel-language.md and its tests are made from."""
