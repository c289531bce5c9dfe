#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/payloads.hpp"
#include "kernels/cuda/row_reductions.hpp"
#include "kernels/ops/payload.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

constexpr unsigned signs = 8; // of a thread: a byte

// Where rows and their signs are.
struct sign_layout {
    std::size_t rows, width;
    std::size_t groups, bytes; // of a row

    explicit sign_layout(const tensor_shape& shape)
        : rows{sign_rows(shape)}, width{rows == 0 ? 0 : shape.elements() / rows},
          groups{(width + signs - 1) / signs}, bytes{2 * sizeof(float) + groups} {}

    // A thread's signs.
    struct place {
        std::size_t first, there; // the first element, and how many of the row are left
        std::size_t row_byte, byte;
    };
    __device__ place at(std::size_t group) const {
        const std::size_t row = group / groups, in_row = group - row * groups;
        return {.first = row * width + signs * in_row,
                .there = width - signs * in_row,
                .row_byte = row * bytes,
                .byte = row * bytes + 2 * sizeof(float) + in_row};
    }
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

struct sign_sums {
    double positive, negative;
    unsigned long long positives;
};
struct sign_sums_of {
    const float* input;
    std::size_t width;
    __device__ sign_sums operator()(std::size_t row, std::size_t c) const {
        const float x = input[row * width + c];
        return x >= 0 ? sign_sums{double{x}, 0, 1} : sign_sums{0, double{x}, 0};
    }
};
struct plus_sign_sums {
    __device__ sign_sums operator()(const sign_sums& a, const sign_sums& b) const {
        return {a.positive + b.positive, a.negative + b.negative, a.positives + b.positives};
    }
};
struct mean_writer {
    sign_layout layout;
    std::byte* payload;

    __device__ void operator()(std::size_t row, const sign_sums& all) const {
        std::byte* const to = payload + row * layout.bytes;
        cuda::write_at(to, mean(all.positive, all.positives));
        cuda::write_at(to + sizeof(float), mean(all.negative, layout.width - all.positives));
    }
    static __device__ float mean(double sum, std::size_t count) {
        return count == 0 ? 0.f : static_cast<float>(sum / static_cast<double>(count));
    }
};

struct encode_pass {
    sign_layout layout;
    const float* input;
    std::byte* payload;

    __device__ void operator()(std::size_t group) const {
        const auto at = layout.at(group);
        const auto x = cuda::load<signs>(input + at.first, at.there);
        unsigned bits = 0;
#pragma unroll
        for (unsigned k = 0; k < signs; ++k)
            bits |= (k < at.there && x.at[k] >= 0 ? 1u : 0u) << k;
        payload[at.byte] = static_cast<std::byte>(bits);
    }
};

struct decode_pass {
    sign_layout layout;
    const std::byte* payload;
    cuda::decode_target target;
    cuda::bad_element_slot bad;

    __device__ void operator()(std::size_t group) const {
        const auto at = layout.at(group);
        const float positive = cuda::read_at<float>(payload + at.row_byte);
        const float negative = cuda::read_at<float>(payload + at.row_byte + sizeof(float));
        const auto bits = static_cast<unsigned>(payload[at.byte]);
        if (at.there < signs && bits >> at.there != 0)
            cuda::report_bad(bad, at.first, static_cast<std::int32_t>(bits));
        cuda::neighbours<signs> decoded;
#pragma unroll
        for (unsigned k = 0; k < signs; ++k)
            decoded.at[k] = (bits >> k & 1) != 0 ? positive : negative;
        target.put(at.first, at.there, decoded);
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const encode_signs& op) {
    const sign_layout layout{op.input.shape()};
    const float* const input = cuda::floats(op.input);
    std::byte* const payload = op.payload.mutable_data();
    if (auto done = cuda::reduce_rows(run_, {layout.rows, layout.width, layout.width}, sign_sums{},
                                      sign_sums_of{input, layout.width}, plus_sign_sums{},
                                      mean_writer{layout, payload}, {&op.input});
        !done)
        return done;
    return cuda::checked(cuda::launch_elements(run_.stream(), layout.rows * layout.groups,
                                               encode_pass{layout, input, payload}),
                         {&op.input});
}

result<void> cuda_operations::start(const decode_signs& op) {
    const decode_operands& o = op.operands;
    const sign_layout layout{o.output.shape()};
    auto bad = run_.look_out([](std::size_t, std::int32_t) { return wrong_sign_bits(); });
    if (!bad)
        return bad.failure();
    return cuda::checked(
        cuda::launch_elements(run_.stream(), layout.rows * layout.groups,
                              decode_pass{layout, o.payload.data(), cuda::decode_target{o}, *bad}),
        {&o.output});
}

} // namespace troupe
