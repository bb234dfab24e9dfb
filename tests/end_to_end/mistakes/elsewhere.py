"""Names and habits from elsewhere: NumPy, math, CUDA C++, OpenCL and plain Python."""

# mypy: ignore-errors
# ruff: noqa

import math

import numpy as np

from gridjit import cuda
from tests.end_to_end.mistakes.mistake import FLOATS, mistake


@mistake(FLOATS)
def whole_arrays_added(out):
    out[:] = out + out


@mistake(FLOATS)
def whole_array_negated(out):
    out[:] = -out


@mistake(FLOATS)
def whole_array_compared(out):
    found = out > 0


@mistake(FLOATS)
def percentile(out):
    out[0] = np.percentile(out, 50.0)


@mistake(FLOATS)
def sorted_array(out):
    out[:] = np.sort(out)


@mistake(FLOATS)
def trimmed_array(out):
    out[0] = np.trim_zeros(out)[0]


@mistake(FLOATS)
def cumulated_array(out):
    out[:] = np.cumsum(out)


@mistake(FLOATS)
def sum_of_a_list(out):
    out[0] = sum([1, 2])


@mistake(FLOATS)
def character_of_a_number(out):
    out[0] = ord(chr(3))


@mistake(FLOATS)
def beginning_of_a_string(out):
    out[0] = "abc".startswith("a")


@mistake(FLOATS)
def joined_strings(out):
    name = ",".join(("a", "b"))


@mistake(FLOATS)
def repeated_string(out):
    name = "a" * out.size


@mistake(FLOATS)
def power_of_ten_of_math(out):
    out[0] = math.exp10(out[0])


@mistake(FLOATS)
def reciprocal_root_of_math(out):
    out[0] = math.rsqrt(out[0])


@mistake(FLOATS)
def logarithm_to_a_base(out):
    out[0] = math.log(out[0], 2.0)


@mistake(FLOATS)
def power_of_numpy(out):
    out[0] = np.power(out[0], 2)


@mistake(FLOATS)
def name_that_numpy_lacks(out):
    out[0] = np.lerp(out[0], out[1], 0.5)


@mistake(FLOATS)
def reduction_of_a_ufunc(out):
    out[0] = np.add.reduce(out)


@mistake(FLOATS)
def clock(out):
    out[0] = cuda.clock64()


@mistake(FLOATS)
def group_of_a_block(out):
    block = cuda.cg.this_block()


@mistake(FLOATS)
def atomic_of_cuda_c(out):
    atomicAdd(out, 0, 1)


@mistake(FLOATS)
def fast_function_of_cuda_c(out):
    out[0] = __expf(out[0])


@mistake(FLOATS)
def position_of_opencl(out):
    out[get_global_id(0)] = 1


@mistake(FLOATS)
def printf_of_c(out):
    printf("%d", out.size)


@mistake(FLOATS)
def module_that_is_not_imported(out):
    out[0] = numpy.sin(out[0])


@mistake(FLOATS)
def stream_in_a_kernel(out):
    stream = cuda.current_stream()


@mistake(FLOATS)
def near_name_of_cuda(out):
    cuda.syncthread()


@mistake(FLOATS)
def name_that_cuda_lacks(out):
    cuda.frobnicate()


@mistake(FLOATS)
def place_in_two_dimensions(out):
    out[cuda.grid(2)] = 1


@mistake(FLOATS)
def too_many_indices(out):
    out[0, 1] = 1


@mistake(FLOATS)
def grid_that_is_not_called(out):
    i = cuda.grid
    out[i] = 1


@mistake(FLOATS)
def array_as_an_index(out):
    out[0] = out[out]


@mistake(FLOATS)
def attribute_called(out):
    out[0] = out.size()


@mistake(FLOATS)
def item_called(out):
    out[0] = out[0](2)


@mistake(FLOATS)
def attribute_of_a_shape(out):
    out[0] = out.shape.size


@mistake(FLOATS)
def attribute_of_a_number(out):
    out[0] = out[0].foo


@mistake(FLOATS)
def tuple_times_a_number(out):
    pair = (1, 2) * out.size


@mistake(FLOATS)
def all_items_by_an_ellipsis(out):
    whole = out[...]


@mistake(FLOATS)
def pairs_of_numbers(out):
    for i, j in range(3):
        out[i] = j


@mistake(FLOATS)
def characters_of_a_string(out):
    for letter in "abc":
        print(letter)


@mistake(FLOATS)
def asserted_array(out):
    assert out


@mistake(FLOATS)
def raised_number(out):
    raise out.size


@mistake(FLOATS)
def function_of_pythons_own(out):
    out[0] = len(dir(out))


@mistake(FLOATS)
def largest_and_length(out):
    out[0] = np.sum(out) + out.max() + len(out)


@mistake(FLOATS)
def part_of_an_array_copied(out):
    out[1:3] = out[2:4]


@mistake("void(float64[:, ::1])")
def row_plus_a_number(image):
    i = cuda.grid(1)
    image[i] = image[i] + 1


@mistake("void(float32[::1], UniTuple(int64, 3))")
def items_of_a_tuple_written(out, sizes):
    sizes[cuda.grid(1)] = 1


@mistake(FLOATS)
def compared_with_a_shape(out):
    if cuda.grid(1) < out.shape:
        out[0] = 1


@mistake("void(complex128[::1])")
def printed_complex(values):
    print(values[0])


@mistake("void(NPDatetime('s')[::1])")
def printed_date(days):
    print(days[0])


@mistake(FLOATS)
def item_given_to_an_atomic(out):
    cuda.atomic.add(out[0], 1)


@mistake(FLOATS)
def block_without_an_axis(out):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim
    out[i] = 1


@mistake("void(float64[:, ::1])")
def flat_view(image):
    image[0, 0] = image.flat[1] + image.ravel()[2]
