#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/payloads.hpp"
#include "kernels/ops/payload.hpp"

namespace troupe {

namespace {

// ---- kernels ----------------------------------------------------------------------------------------------------------

// Calls at_index(place, code, index) for each of the codes that a payload begins with, whose index is what `mask` leaves of
// it. One that is too large or not above the one before it is reported and skipped.
template <class Function>
struct at_indices {
    const std::byte* payload;
    std::size_t elements;
    std::uint32_t mask;
    cuda::bad_element_slot bad;
    Function at_index;

    __device__ void operator()(std::size_t place) const {
        const auto code = cuda::read_at<std::uint32_t>(payload + 4 * place);
        const std::uint32_t index = code & mask;
        const bool ascends =
            place == 0 || index > (cuda::read_at<std::uint32_t>(payload + 4 * (place - 1)) & mask);
        if (index < elements && ascends)
            at_index(place, code, index);
        else
            cuda::report_bad(bad, place, static_cast<std::int32_t>(index));
    }
};

struct add_value {
    const std::byte* values;
    float factor;
    float* output;
    __device__ void operator()(std::size_t place, std::uint32_t, std::uint32_t index) const {
        const auto value = cuda::read_at<float>(values + 4 * place);
        output[index] = __fadd_rn(output[index], __fmul_rn(factor, value));
    }
};

struct add_step {
    float step;
    float* output;
    __device__ void operator()(std::size_t, std::uint32_t code, std::uint32_t index) const {
        output[index] = __fadd_rn(output[index], (code & 0x80000000) != 0 ? -step : step);
    }
};

struct clear {
    float* output;
    __device__ void operator()(std::size_t, std::uint32_t, std::uint32_t index) const {
        output[index] = 0;
    }
};

// ---- launchers --------------------------------------------------------------------------------------------------------

template <class Function>
result<void> run_at_indices(const tensor& payload, std::size_t count, std::uint32_t mask,
                            const tensor& output, const Function& at_index, cuda::execution& run) {
    auto bad = run.look_out([](std::size_t, std::int32_t) { return wrong_index(); });
    if (!bad)
        return bad.failure();
    return cuda::checked(
        cuda::launch_elements(
            run.stream(), count,
            at_indices<Function>{payload.data(), output.elements(), mask, *bad, at_index}),
        {&payload, &output});
}

result<void> copy_addend(const decode_operands& o, cudaStream_t stream) {
    std::byte* const to = o.output.mutable_data();
    if (o.addend == nullptr)
        return cuda::checked(cudaMemsetAsync(to, 0, o.output.bytes(), stream), {&o.output});
    if (o.addend->data() == to)
        return {};
    return cuda::checked(
        cudaMemcpyAsync(to, o.addend->data(), o.output.bytes(), cudaMemcpyDefault, stream),
        {&o.output});
}

} // namespace

result<void> cuda_operations::start(const decode_sparse& op) {
    const decode_operands& o = op.operands;
    if (auto done = copy_addend(o, run_.stream()); !done)
        return done;
    const std::size_t count = o.payload.bytes() / sparse_element_bytes;
    return run_at_indices(o.payload, count, ~std::uint32_t{0}, o.output,
                          add_value{o.payload.data() + 4 * count, o.factor, cuda::floats(o.output)},
                          run_);
}

result<void> cuda_operations::start(const clear_at& op) {
    return run_at_indices(op.payload, op.payload.bytes() / sparse_element_bytes, ~std::uint32_t{0},
                          op.output, clear{cuda::floats(op.output)}, run_);
}

result<void> cuda_operations::start(const decode_threshold& op) {
    const decode_operands& o = op.operands;
    if (auto done = copy_addend(o, run_.stream()); !done)
        return done;
    return run_at_indices(o.payload, o.payload.bytes() / threshold_element_bytes, 0x7fffffff,
                          o.output, add_step{o.factor * op.threshold, cuda::floats(o.output)},
                          run_);
}

} // namespace troupe
