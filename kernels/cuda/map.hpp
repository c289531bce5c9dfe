// Functions of the elements at one place of several tensors, as updates of weights are: each is read or written once.
//
// A thread takes four neighbouring elements, with one access of 16 bytes where the address allows it; what it computes of
// them does not depend on that.
#pragma once

#include "kernels/cuda/elements.hpp"

namespace troupe::cuda {

// Elements beside one another.
template <unsigned N>
struct neighbours {
    float at[N];
};

__host__ __device__ inline bool has_wide_address(const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(float4) == 0;
}

// The next N elements; where only `there` are left, 0 for those behind them.
template <unsigned N>
__device__ neighbours<N> load(const float* from, std::size_t there) {
    static_assert(N % 4 == 0);
    neighbours<N> some;
    if (there >= N && has_wide_address(from)) {
#pragma unroll
        for (unsigned k = 0; k < N; k += 4) {
            const float4 four = *reinterpret_cast<const float4*>(from + k);
            some.at[k] = four.x;
            some.at[k + 1] = four.y;
            some.at[k + 2] = four.z;
            some.at[k + 3] = four.w;
        }
    } else {
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            some.at[k] = k < there ? from[k] : 0;
    }
    return some;
}

// As many of them as `there` are.
template <unsigned N>
__device__ void store(float* to, std::size_t there, const neighbours<N>& some) {
    static_assert(N % 4 == 0);
    if (there >= N && has_wide_address(to)) {
#pragma unroll
        for (unsigned k = 0; k < N; k += 4)
            *reinterpret_cast<float4*>(to + k) =
                make_float4(some.at[k], some.at[k + 1], some.at[k + 2], some.at[k + 3]);
    } else {
#pragma unroll
        for (unsigned k = 0; k < N; ++k)
            if (k < there)
                to[k] = some.at[k];
    }
}

// Where the elements of `Ins` tensors come from and those of `Outs` go to.
template <unsigned Ins, unsigned Outs>
struct map_operands {
    const float* in[Ins];
    float* out[Outs];
};

// Maps the four elements from 4 * group on.
template <class Function, unsigned Ins, unsigned Outs>
struct mapped {
    std::size_t count;
    Function function;
    map_operands<Ins, Outs> operands;

    __device__ void operator()(std::size_t group) const {
        const std::size_t first = 4 * group, there = count - first;
        neighbours<4> x[Ins], y[Outs];
#pragma unroll
        for (unsigned i = 0; i < Ins; ++i)
            x[i] = load<4>(operands.in[i] + first, there);
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
            float in[Ins], out[Outs];
#pragma unroll
            for (unsigned i = 0; i < Ins; ++i)
                in[i] = x[i].at[k];
            function(in, out);
#pragma unroll
            for (unsigned o = 0; o < Outs; ++o)
                y[o].at[k] = out[o];
        }
#pragma unroll
        for (unsigned o = 0; o < Outs; ++o)
            store(operands.out[o] + first, there, y[o]);
    }
};

// Calls function(in, out), a __device__ member, for each place below `count`: `in` has what the inputs have there, `out`
// takes what the outputs get. Outputs may be inputs.
template <class Function, unsigned Ins, unsigned Outs>
cudaError_t launch_map(cudaStream_t stream, std::size_t count, const Function& function,
                       const map_operands<Ins, Outs>& operands) {
    return launch_elements(stream, (count + 3) / 4,
                           mapped<Function, Ins, Outs>{count, function, operands});
}

} // namespace troupe::cuda
