"""Files to link are read, keyed and linked with a kernel; whatever is wrong with one is said with its name."""

from __future__ import annotations

import sys

import pytest

from gridjit.compiler.key.headers import with_headers
from gridjit.compiler.key.linked_files import link_fields, linked_files
from gridjit.compiler.targets.ptx.generate import generate
from gridjit.compiler.targets.ptx.link import link
from gridjit.compiler.targets.ptx.nvrtc import LinkedCodeWarning, compile_cuda, nvrtc_flags
from gridjit.compiler.values.errors import CompileError, LinkError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import LinkedFile, Lowered, Target
from tests.toolkit import needs_toolkit

NEEDS_TOOLKIT = needs_toolkit()

# A kernel that calls a function which only a linked file defines.
CALLER = """
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-\
v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
declare i32 @twice(i32)
define void @kernel(i32* %p) {
  %v = load i32, i32* %p
  %w = call i32 @twice(i32 %v)
  store i32 %w, i32* %p
  ret void
}
@llvm.used = appending global [1 x i8*] [i8* bitcast (void (i32*)* @kernel to i8*)], section "llvm.metadata"
!nvvm.annotations = !{!0}
!0 = !{void (i32*)* @kernel, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0, i32 3, i32 2}
"""
TWICE = 'extern "C" __device__ int twice(int x) { return x + x; }\n'
ARCH = "sm_90"


@pytest.fixture
def extra(tmp_path, monkeypatch):
    """Return a folder that headers are looked for in."""
    folder = tmp_path / "extra"
    folder.mkdir()
    monkeypatch.setenv("NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS", f"/nowhere:{folder}")
    config = sys.modules.get("numba.core.config")
    if hasattr(config, "CUDA_NVRTC_EXTRA_SEARCH_PATHS"):
        monkeypatch.setattr(config, "CUDA_NVRTC_EXTRA_SEARCH_PATHS", f"/nowhere:{folder}")
    return folder


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "twice.cu"
    path.write_text(TWICE)
    return path


def make(*paths, **given):
    """Return the code of CALLER linked with the files at paths."""
    options = Options(link=tuple(map(str, paths)), **given)
    lowered = Lowered(
        modules=(CALLER,), entry="kernel", exceptions={}, linked=linked_files(options), kernel="app.kernel"
    )
    return generate(lowered, Target(kind="ptx", arch=ARCH), options)


def as_kind(source, kind):
    """Return the path of source compiled to a file of another kind."""
    (file,) = linked_files(Options(link=(str(source),)))
    made = compile_cuda(file, nvrtc_flags(file, ARCH, Options(), lto=kind == "ltoir"))
    if kind == "cubin":
        made = LinkedFile(name="twice", kind="cubin", data=relocatable_cubin())
    path = source.with_suffix("." + kind)
    path.write_bytes(made.data)
    return path


def relocatable_cubin():
    """Return a cubin of TWICE that can be linked further; nvJitLink makes only final ones, NVRTC both."""
    from cuda.bindings import nvrtc

    _, program = nvrtc.nvrtcCreateProgram(TWICE.encode(), b"twice.cu", 0, [], [])
    flags = [b"--gpu-architecture=sm_90", b"--relocatable-device-code=true"]
    nvrtc.nvrtcCompileProgram(program, len(flags), flags)
    data = bytearray(nvrtc.nvrtcGetCUBINSize(program)[1])
    nvrtc.nvrtcGetCUBIN(program, data)
    return bytes(data)


class TestLinking:
    pytestmark = NEEDS_TOOLKIT

    @pytest.mark.some(4)
    @pytest.mark.parametrize("lto", [False, True])
    @pytest.mark.parametrize("kind", ["cu", "ptx", "cubin", "ltoir"])
    def test_a_function_of_each_kind_of_file_is_linked(self, source, kind, lto):
        path = source if kind == "cu" else as_kind(source, kind)
        assert b".text.kernel\0" in make(path, lto=lto).image

    @pytest.mark.parametrize("kind", ["cu", "ltoir"])
    def test_lto_inlines_the_function_that_separate_compilation_calls(self, source, kind):
        assert b".text.twice\0" in make(source).image
        path = source if kind == "cu" else as_kind(source, kind)
        assert b".text.twice\0" not in make(path, lto=True).image

    def test_a_kernel_that_calls_lto_ir_is_optimized_with_it_without_being_asked(self, source):
        assert b".text.twice\0" not in make(as_kind(source, "ltoir")).image

    def test_debug_links_lto_ir_too(self, source):
        assert b".text.kernel\0" in make(as_kind(source, "ltoir"), debug=True, opt=False).image

    def test_a_missing_function_is_named_with_the_kernel(self):
        with pytest.raises(CompileError, match=r"app\.kernel for sm_90: nvJitLink: [^\0]*twice"):
            make()

    @pytest.mark.parametrize("kind", ["cu", "ptx", "cubin", "ltoir"])
    def test_two_definitions_of_a_function_are_named_with_the_kernel(self, source, tmp_path, kind):
        other = tmp_path / "again.cu"
        other.write_text(TWICE)
        path = source if kind == "cu" else as_kind(source, kind)
        with pytest.raises(CompileError, match=r"app\.kernel for sm_90: [^\0]*twice"):
            make(path, other)

    def test_two_definitions_of_a_variable_are_named_with_both_files(self, source, tmp_path):
        other = tmp_path / "again.cu"
        other.write_text('extern "C" __device__ int table[4] = {1, 2, 3, 4};\n')
        source.write_text(TWICE + other.read_text())
        with pytest.raises(CompileError, match=r"'table' is defined twice: in .*twice\.cu and in .*again\.cu"):
            make(source, other)

    def test_definitions_private_to_two_files_do_not_clash(self, source, tmp_path):
        other = tmp_path / "again.cu"
        other.write_text("static __device__ int count;\n__device__ inline int own() { return count; }\n")
        source.write_text(other.read_text() + TWICE)
        assert b".text.kernel\0" in make(source, other).image

    def test_an_error_in_cuda_source_is_shown_with_its_line(self, source):
        source.write_text(TWICE + "__device__ int broken() { return missing; }\n")
        with pytest.raises(LinkError, match=r'app\.kernel for sm_90: NVRTC: [^\0]*twice\.cu\(2\)[^\0]*"missing"'):
            make(source)

    def test_a_file_that_is_not_what_its_suffix_says_is_named(self, tmp_path):
        path = tmp_path / "fake.cubin"
        path.write_bytes(b"not a cubin")
        with pytest.raises(CompileError, match=r"app\.kernel for sm_90: nvJitLink: [^\0]*fake\.cubin"):
            make(path)

    def test_headers_beside_the_file_and_of_the_toolkit_are_found(self, source, tmp_path):
        (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
        source.write_text(
            '#include "factor.h"\n#include <cuda_fp16.h>\n'
            'extern "C" __device__ int twice(int x) { return FACTOR * __half2int_rn(__int2half_rn(x)); }\n'
        )
        assert b".text.twice\0" in make(source).image

    def test_headers_in_the_extra_folders_are_found(self, source, extra):
        (extra / "factor.h").write_text("#define FACTOR 3\n")
        source.write_text('#include <factor.h>\nextern "C" __device__ int twice(int x) { return FACTOR * x; }\n')
        assert b".text.twice\0" in make(source).image

    def test_what_the_compiler_says_of_a_file_it_accepts_is_a_warning(self, source):
        source.write_text('extern "C" __device__ int twice(int x) { int unused; return x + x; }\n')
        with pytest.warns(LinkedCodeWarning, match=r"twice\.cu.*\n.*declared but never referenced"):
            make(source)

    @pytest.mark.parametrize("lto", [False, True])
    def test_code_may_use_what_only_its_architecture_has(self, source, lto):
        replace = "tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 2;"
        source.write_text(
            f'extern "C" __device__ int twice(int x) {{ asm volatile("{replace}" :: "r"(x)); return 0; }}\n'
        )
        assert b".text.kernel\0" in make(source, lto=lto).image

    def test_an_architecture_that_the_linker_does_not_know_is_named(self):
        ptx = LinkedFile(name="kernel", kind="ptx", data=b"")
        with pytest.raises(CompileError, match=r"'sm_12' is not known to .* nvJitLink; known are .*sm_80.*sm_90a"):
            link((ptx,), (), "sm_12", Options())

    def test_a_missing_nvjitlink_is_named_with_the_way_on(self, monkeypatch, source):
        monkeypatch.setitem(sys.modules, "cuda.bindings.nvjitlink", None)
        with pytest.raises(CompileError, match=r"app\.kernel for sm_90: nvJitLink .*pip install 'numba-cuda\[cu13\]'"):
            make(source)


class TestFiles:
    def test_files_are_read_in_order_with_their_kinds(self, source, tmp_path):
        other = tmp_path / "b.ltoir"
        other.write_bytes(b"bytes")
        first, second = linked_files(Options(link=(str(source), str(other))))
        assert (first.kind, first.name, first.data) == ("cu", str(source), TWICE.encode())
        assert (second.kind, second.name, second.data) == ("ltoir", str(other), b"bytes")

    def test_a_relative_path_is_kept_from_the_folder_it_was_given_in(self, source, monkeypatch):
        monkeypatch.chdir(source.parent)
        (file,) = linked_files(Options(link=("twice.cu",)))
        assert file.name == str(source)

    def test_a_missing_file_is_named_with_the_accepted_suffixes(self, tmp_path):
        with pytest.raises(LinkError, match=r"gone\.cu.*No such file.*\.ptx.*\.fatbin"):
            linked_files(Options(link=(str(tmp_path / "gone.cu"),)))

    def test_a_folder_is_not_a_file(self, tmp_path):
        (tmp_path / "dir.ptx").mkdir()
        with pytest.raises(CompileError, match=r"dir\.ptx.*directory"):
            linked_files(Options(link=(str(tmp_path / "dir.ptx"),)))

    @pytest.mark.parametrize("name", ["lib.so", "noextension"])
    def test_an_unknown_suffix_is_named_with_the_accepted_ones(self, name):
        with pytest.raises(CompileError, match=rf"{name}.*\.ptx, \.cubin, \.ltoir, \.cu"):
            linked_files(Options(link=(name,)))

    def test_no_files_make_no_fields(self):
        assert link_fields(linked_files(Options())) == ()


class TestFields:
    def fields(self, *paths):
        return self.of(*linked_files(Options(link=tuple(map(str, paths)))))

    def of(self, *files):
        """Return the fields of the files themselves, without what says which headers CUDA has."""
        return tuple(field for field in link_fields(files) if field[0].startswith("link."))

    def test_fields_name_the_file_and_change_with_its_bytes(self, source):
        before = self.fields(source)
        source.write_text(TWICE + "\n")
        after = self.fields(source)
        assert [label for label, _ in before] == [label for label, _ in after] == ["link.0.twice.cu"]
        assert before != after

    def test_fields_do_not_depend_on_the_folder(self, source, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        copy = tmp_path / "elsewhere" / "twice.cu"
        copy.write_text(TWICE)
        assert self.fields(source) == self.fields(copy)

    def test_the_order_of_files_counts(self, source, tmp_path):
        other = tmp_path / "b.ptx"
        other.write_text("//")
        assert self.fields(source, other) != self.fields(other, source)

    def test_the_same_bytes_of_another_kind_are_another_file(self, source):
        copy = source.with_suffix(".ptx")
        copy.write_text(TWICE)
        assert self.fields(source)[0][1] != self.fields(copy)[0][1]

    def test_a_header_included_by_a_header_counts(self, source, tmp_path):
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "outer.h").write_text('#include "inner.h"\n')
        inner = tmp_path / "sub" / "inner.h"
        inner.write_text("#define FACTOR 2\n")
        source.write_text('#include "sub/outer.h"\n#include <cuda_fp16.h>\n' + TWICE)
        before = self.fields(source)
        inner.write_text("#define FACTOR 3\n")
        after = self.fields(source)
        assert [label for label, _ in before] == ["link.0.twice.cu", "link.0.sub/inner.h", "link.0.sub/outer.h"]
        assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, True]

    def test_a_header_in_the_extra_folders_counts(self, source, extra):
        header = extra / "factor.h"
        header.write_text("#define FACTOR 2\n")
        source.write_text("#include <factor.h>\n" + TWICE)
        before = self.fields(source)
        header.write_text("#define FACTOR 3\n")
        assert [label for label, _ in before] == ["link.0.twice.cu", "link.0.extra/factor.h"]
        assert before[1] != self.fields(source)[1]

    def test_a_header_that_code_in_memory_names_by_its_path_counts(self, tmp_path):
        header = tmp_path / "factor.h"
        header.write_text("#define FACTOR 2\n")
        file = LinkedFile(name="in memory", kind="cu", data=f"#include <{header}>\n".encode())
        before = self.of(with_headers(file))
        header.write_text("#define FACTOR 3\n")
        assert before[0] == self.of(with_headers(file))[0]
        assert before[1] != self.of(with_headers(file))[1]

    def test_code_in_memory_has_no_headers_beside_it(self, tmp_path, monkeypatch):
        (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
        monkeypatch.chdir(tmp_path)
        file = LinkedFile(name="in memory", kind="cu", data=b'#include "factor.h"\n')
        assert len(self.of(with_headers(file))) == 1

    def test_a_file_that_includes_itself_has_one_field(self, source, tmp_path):
        path = tmp_path / "self.cu"
        path.write_text('#ifndef ONCE\n#define ONCE\n#include "self.cu"\n#endif\n')
        assert [label for label, _ in self.fields(path)] == ["link.0.self.cu"]

    def test_headers_that_include_each_other_end(self, source, tmp_path):
        (tmp_path / "a.h").write_text('#include "b.h"\n')
        (tmp_path / "b.h").write_text('#include "a.h"\n')
        source.write_text('#include "a.h"\n' + TWICE)
        assert len(self.fields(source)) == 3
