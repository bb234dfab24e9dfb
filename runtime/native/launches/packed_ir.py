"""packed: how a launch hands its parameters to cuLaunchKernel as one buffer, as LLVM IR."""

from __future__ import annotations


def packed(size: str) -> str:
    """Return the code that fills %extra with %buffer and, kept in %size, its bytes; size: the value that tells them."""
    return f"""\
  store i64 {size}, ptr %size
  store ptr inttoptr (i64 1 to ptr), ptr %extra
  %extra1 = getelementptr ptr, ptr %extra, i64 1
  store ptr %buffer, ptr %extra1
  %extra2 = getelementptr ptr, ptr %extra, i64 2
  store ptr inttoptr (i64 2 to ptr), ptr %extra2
  %extra3 = getelementptr ptr, ptr %extra, i64 3
  store ptr %size, ptr %extra3
  %extra4 = getelementptr ptr, ptr %extra, i64 4
  store ptr null, ptr %extra4"""
