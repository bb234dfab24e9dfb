"""Descriptions of arrays, as LLVM IR: what a launch would be given for one, without a launch.

    PyObject *describe(env, table, buffer)

returns a tuple: the object whose address the table has as its handle, and the parameters as bytes.
"""

from __future__ import annotations

from gridjit.runtime.native.layout.fields import load

_PYTHON = ("PyTuple_New", "PyTuple_SetItem", "PyBytes_FromStringAndSize", "Py_IncRef", "Py_DecRef")

DESCRIBING = f"""
define internal ptr @describe(ptr %env, ptr %table, ptr %buffer) #1 {{
entry:
{load("env", "Environment", *(f"{name}:ptr" for name in _PYTHON))}
{load("table", "Table", "handle:ptr", "size")}
  %bytes = call ptr %env.PyBytes_FromStringAndSize(ptr %buffer, i64 %table.size)
  %no.bytes = icmp eq ptr %bytes, null
  br i1 %no.bytes, label %fail, label %pair
pair:
  %both = call ptr %env.PyTuple_New(i64 2)
  %no.pair = icmp eq ptr %both, null
  br i1 %no.pair, label %drop, label %fill
fill:
  call void %env.Py_IncRef(ptr %table.handle)
  %first = call i32 %env.PyTuple_SetItem(ptr %both, i64 0, ptr %table.handle)
  %second = call i32 %env.PyTuple_SetItem(ptr %both, i64 1, ptr %bytes)
  ret ptr %both
drop:
  call void %env.Py_DecRef(ptr %bytes)
  br label %fail
fail:
  ret ptr null
}}
"""
