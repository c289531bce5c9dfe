// The loops of dense codecs (kernels/ops/codecs.hpp), compiled once per instruction set as those of loops.hpp and under the
// same rule: no result depends on the instruction set. Payloads are at any address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

// output[i] = addend[i] + factor * what is decoded of i, without the addend where it is null.
struct decode_task {
    float factor;
    const float* addend;
    float* output;
    std::size_t count;
};

// A bucket.
struct quantize_task {
    std::uint32_t levels;
    std::size_t bits;
    float factor; // levels / norm; 0: all levels are 0
    float limit;  // what elements are cut at, NaN too
    std::uint32_t number;
    std::uint32_t step[2];
    std::uint32_t stream[2];
    bool nearest; // by no lot
};

struct moments {
    double sum, squares;
};

struct sign_means {
    float positive, negative;
};

struct codec_loops {
    void (*to_bf16)(const float* x, void* to, std::size_t count);
    void (*to_f16)(const float* x, void* to, std::size_t count);
    void (*from_bf16)(const void* from, decode_task task);
    void (*from_f16)(const void* from, decode_task task);

    float (*largest)(const float* x, std::size_t count); // magnitude; NaN if there is one
    moments (*sums)(const float* x, std::size_t count);
    void (*quantize)(quantize_task task, const float* x, void* to, std::size_t count);
    // step: between two levels. False if some code is above 2 levels.
    bool (*dequantize)(std::uint32_t levels, std::size_t bits, float step, const void* from,
                       decode_task task);

    // A row; writes the bits alone.
    sign_means (*encode_signs)(const float* x, void* to, std::size_t count);
    void (*decode_signs)(sign_means means, const void* from, decode_task task);

    // u' = momentum * u + scale * g, v' = v + u'
    void (*momentum)(float momentum, float scale, const float* g, const float* u, const float* v,
                     float* new_u, float* new_v, std::size_t count);
    float (*dot)(const float* x, const float* y, std::size_t count);
};

extern const codec_loops codec_loops_baseline;
extern const codec_loops codec_loops_avx2;
extern const codec_loops codec_loops_avx512;

} // namespace troupe::cpu
