// The floor: a bare C loop of cuLaunchKernel over an empty kernel, its parameters packed in one buffer.
//
//     nvcc -O2 -o floor floor.cu && ./floor                      prints microseconds per launch by parameter words
//     nvcc -O2 -shared -Xcompiler -fPIC -o libfloor.so floor.cu  for floor_launches() in another program's process
//
// Launches go to the default stream of the calling thread's primary context, 1 block of 1 thread.

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

template <int COUNT> struct Words {
    long long word[COUNT];
};

__global__ void nothing() {}
template <int COUNT> __global__ void taking(Words<COUNT>) {}

using Launch = decltype(&cuLaunchKernel);

static Launch launch_function() {
    static Launch found = [] {
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        return library ? reinterpret_cast<Launch>(dlsym(library, "cuLaunchKernel")) : nullptr;
    }();
    return found;
}

// The empty kernel that takes so many 8-byte words: as many as 0-4 and 26 scalars or 1-D arrays come to.
static const void *kernel_of(int words) {
#define TAKING(count)                                                                                                  \
    case count:                                                                                                        \
        return reinterpret_cast<const void *>(taking<count>);
    switch (words) {
        case 0:
            return reinterpret_cast<const void *>(nothing);
            TAKING(1) TAKING(2) TAKING(3) TAKING(4) TAKING(7) TAKING(14) TAKING(21) TAKING(26) TAKING(28) TAKING(182)
    }
#undef TAKING
    return nullptr;
}

// What a driver's launch is replaced by to see what is done around it.
extern "C" CUresult launch_nothing(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   CUstream, void **, void **) {
    return CUDA_SUCCESS;
}

// Launch the empty kernel of `words` parameter words `times` times. Returns 0, or what went wrong.
extern "C" int floor_launches(int words, long times) {
    const void *kernel = kernel_of(words);
    Launch launch = launch_function();
    cudaFunction_t function = nullptr;
    if (!kernel || !launch) return -1;
    if (cudaError_t error = cudaGetFuncBySymbol(&function, kernel)) return error;
    long long packed[182] = {};
    size_t size = words * sizeof(long long);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    void **given = words ? extra : nullptr;
    for (long i = 0; i < times; i++) {
        packed[0] = i;
        if (CUresult error = launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, given)) return error;
    }
    return 0;
}

int main() {
    const int batch = 500, batches = 41;
    for (int words : {0, 1, 2, 3, 4, 7, 14, 21, 26, 28, 182}) {
        std::vector<double> microseconds;
        for (int i = 0; i < batches; i++) {
            auto started = std::chrono::steady_clock::now();
            if (int error = floor_launches(words, batch)) {
                std::fprintf(stderr, "floor: launching failed with error %d\n", error);
                return 1;
            }
            std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - started;
            microseconds.push_back(taken.count() / batch);
            cudaDeviceSynchronize();
        }
        std::sort(microseconds.begin(), microseconds.end());
        std::printf("%3d words  %.2f us\n", words, microseconds[batches / 2]);
    }
}
