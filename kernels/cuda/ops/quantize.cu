#include <cmath>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/payloads.hpp"
#include "kernels/cuda/random.hpp"
#include "kernels/cuda/row_reductions.hpp"
#include "kernels/ops/payload.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr unsigned codes = 8; // of a thread: as many bytes as one has bits

// Where the buckets of a tensor and their codes are.
struct bucket_layout {
    std::size_t elements, buckets, size; // of all, and of a bucket but perhaps the last
    std::size_t groups, bytes;           // of a bucket's codes, but perhaps of the last
    std::uint32_t levels;
    unsigned bits;
    bool nearest;

    bucket_layout(const quantizer& q, std::size_t elements)
        : elements{elements}, buckets{q.buckets(elements)}, size{q.bucket_size(elements)},
          groups{(size + codes - 1) / codes}, bytes{(size * q.bits() + 7) / 8}, levels{q.levels},
          bits{static_cast<unsigned>(q.bits())}, nearest{q.nearest} {}

    std::size_t last_size() const { return elements == 0 ? 0 : elements - (buckets - 1) * size; }
    std::size_t all_groups() const {
        return elements == 0 ? 0 : (buckets - 1) * groups + (last_size() + codes - 1) / codes;
    }
    cuda::row_sizes rows() const { return {buckets, size, last_size()}; }

    // A thread's codes.
    struct place {
        std::size_t bucket, in_bucket; // the bucket's number, and the first element's in it
        std::size_t first, there;      // the first element, and how many of the bucket are left
        std::size_t byte;              // of the payload
        unsigned bytes;
    };
    __device__ place at(std::size_t group) const {
        const std::size_t bucket = group / groups, in_bucket = codes * (group - bucket * groups);
        const std::size_t first = bucket * size + in_bucket;
        const std::size_t end = bucket + 1 < buckets ? (bucket + 1) * size : elements;
        const unsigned used = end - first < codes ? static_cast<unsigned>(end - first) : codes;
        return {.bucket = bucket,
                .in_bucket = in_bucket,
                .first = first,
                .there = end - first,
                .byte = buckets * sizeof(float) + bucket * bytes + in_bucket / codes * bits,
                .bytes = (used * bits + 7) / 8};
    }
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

struct moments {
    double sum, squares;
};
struct moments_of {
    const float* input;
    __device__ moments operator()(std::size_t, std::size_t i) const {
        const double x{input[i]};
        return {x, x * x};
    }
};
struct plus_moments {
    __device__ moments operator()(moments a, moments b) const {
        return {a.sum + b.sum, a.squares + b.squares};
    }
};

// Elements are cut at so many standard deviations.
struct clip_limit {
    double clip, count;
    float* limit;
    __device__ void operator()(std::size_t, moments all) const {
        const double mean = all.sum / count;
        *limit = static_cast<float>(clip * sqrt(fmax(0.0, all.squares / count - mean * mean)));
    }
};

struct magnitude_bits { // in their order NaN is above all numbers
    const float* input;
    std::size_t bucket_size;
    __device__ std::uint32_t operator()(std::size_t bucket, std::size_t e) const {
        return __float_as_uint(input[bucket * bucket_size + e]) & 0x7fffffff;
    }
};

struct squares {
    const float* input;
    std::size_t bucket_size;
    __device__ double operator()(std::size_t bucket, std::size_t e) const {
        const double x{input[bucket * bucket_size + e]};
        return x * x;
    }
};

// Writes norms: NaN where they are too large, 0 where too small.
struct norm_writer {
    const float* limit; // or null
    float levels;       // whose steps a norm is a sum of; 0: of none
    std::byte* payload;

    __device__ void operator()(std::size_t bucket, std::uint32_t largest) const {
        const float norm = __uint_as_float(largest);
        write(bucket, limit != nullptr && norm > *limit ? *limit : norm);
    }
    __device__ void operator()(std::size_t bucket, double squares) const {
        write(bucket, static_cast<float>(sqrt(squares)));
    }
    __device__ void write(std::size_t bucket, float norm) const {
        constexpr std::uint32_t no_number = 0x7fc00000;
        if (levels > 0)
            norm = __fmul_rn(levels, __fdiv_rn(norm, levels));
        if (!(norm <= 0x1p100f))
            norm = __uint_as_float(no_number);
        else if (norm < 0x1p-100f)
            norm = 0;
        cuda::write_at(payload + bucket * sizeof norm, norm);
    }
};

// Behind the norms.
struct quantize_pass {
    bucket_layout layout;
    quantize_key key;
    const float* limit; // or null
    const float* input;
    std::byte* payload;

    __device__ void operator()(std::size_t group) const {
        const auto at = layout.at(group);
        const float norm = cuda::read_at<float>(payload + at.bucket * sizeof(float));
        const auto levels = static_cast<int>(layout.levels);
        // Nothing that is no number becomes a level.
        const float factor = norm > 0 ? __fdiv_rn(static_cast<float>(levels), norm) : 0;
        const float most = !(norm > 0) ? 0 : limit != nullptr ? *limit : INFINITY;
        const auto x = cuda::load<codes>(input + at.first, at.there);
        std::uint64_t all = 0;
#pragma unroll
        for (unsigned half = 0; half < codes; half += 4) {
            const std::uint64_t counter =
                at.bucket << 32 | static_cast<std::uint32_t>((at.in_bucket + half) / 4);
            const philox_words random = cuda::random_words(counter, key.step, key.stream);
#pragma unroll
            for (unsigned k = 0; k < 4; ++k) {
                const float value = x.at[half + k], size = fabsf(value);
                const float y = __fmul_rn(size < most ? size : most, factor);
                const float u =
                    layout.nearest ? 0.5f : static_cast<float>(random.word[k] >> 8) * 0x1p-24f;
                const int some = static_cast<int>(__fadd_rn(y, u));
                const int level = some < levels ? some : levels;
                const int code = levels + (value < 0 ? -level : level);
                if (half + k < at.there)
                    all |= static_cast<std::uint64_t>(code) << (half + k) * layout.bits;
            }
        }
        cuda::write_bytes(payload + at.byte, at.bytes, all);
    }
};

struct dequantize_pass {
    bucket_layout layout;
    const std::byte* payload;
    cuda::decode_target target;
    cuda::bad_element_slot bad;

    __device__ void operator()(std::size_t group) const {
        const auto at = layout.at(group);
        const float norm = cuda::read_at<float>(payload + at.bucket * sizeof(float));
        const float step = __fdiv_rn(norm, static_cast<float>(layout.levels));
        const std::uint64_t all = cuda::read_bytes(payload + at.byte, at.bytes);
        const std::uint32_t mask = (1u << layout.bits) - 1;
        const auto levels = static_cast<int>(layout.levels);
        cuda::neighbours<codes> decoded;
#pragma unroll
        for (unsigned k = 0; k < codes; ++k) {
            const int code =
                static_cast<int>(static_cast<std::uint32_t>(all >> k * layout.bits) & mask);
            if (code > 2 * levels && k < at.there)
                cuda::report_bad(bad, at.first + k, code);
            decoded.at[k] = __fmul_rn(static_cast<float>(code - levels), step);
        }
        target.put(at.first, at.there, decoded);
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const quantize& op) {
    const quantizer& q = op.settings;
    const float* const input = cuda::floats(op.input);
    std::byte* const payload = op.payload.mutable_data();
    const bucket_layout layout{q, op.input.elements()};
    buffer_ref scratch;
    float* limit = nullptr;
    if (q.clip != 0) {
        auto made = run_.scratch(sizeof *limit);
        if (!made)
            return made.failure();
        scratch = std::move(*made);
        limit = cuda::floats(scratch);
        const auto count = static_cast<double>(layout.elements);
        if (auto done = cuda::reduce_rows(run_, {1, layout.elements, layout.elements}, moments{},
                                          moments_of{input}, plus_moments{},
                                          clip_limit{double{q.clip}, count, limit}, {&op.input});
            !done)
            return done;
    }
    const norm_writer norms{limit, q.nearest ? static_cast<float>(q.levels) : 0, payload};
    if (auto done = q.norm == bucket_norm::largest
                        ? cuda::reduce_rows(run_, layout.rows(), std::uint32_t{0},
                                            magnitude_bits{input, layout.size}, cuda::larger{},
                                            norms, {&op.input})
                        : cuda::reduce_rows(run_, layout.rows(), 0.0, squares{input, layout.size},
                                            cuda::plus{}, norms, {&op.input});
        !done)
        return done;
    return cuda::checked(
        cuda::launch_elements(run_.stream(), layout.all_groups(),
                              quantize_pass{layout, op.key, limit, input, payload}),
        {&op.input});
}

result<void> cuda_operations::start(const dequantize& op) {
    const decode_operands& o = op.operands;
    const bucket_layout layout{op.settings, o.output.elements()};
    auto bad = run_.look_out([](std::size_t, std::int32_t) { return wrong_level(); });
    if (!bad)
        return bad.failure();
    return cuda::checked(cuda::launch_elements(run_.stream(), layout.all_groups(),
                                               dequantize_pass{layout, o.payload.data(),
                                                               cuda::decode_target{o}, *bad}),
                         {&o.output});
}

} // namespace troupe
