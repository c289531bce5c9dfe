#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/row_reductions.hpp"
#include "kernels/cuda/selection.hpp"

namespace troupe {

namespace {

// ---- kernels ----------------------------------------------------------------------------------------------------------

struct is_at_least {
    const float* input;
    std::uint32_t magnitude;
    __device__ unsigned long long operator()(std::size_t, std::size_t i) const {
        return cuda::magnitude_of(input[i]) >= magnitude ? 1 : 0;
    }
};

} // namespace

// ---- launchers --------------------------------------------------------------------------------------------------------

result<void> cuda_operations::start(const nth_magnitude& op) {
    auto scratch = run_.scratch(sizeof(cuda::selection));
    if (!scratch)
        return scratch.failure();
    auto* const found = reinterpret_cast<cuda::selection*>((*scratch)->data());
    if (auto done = cuda::select_magnitude(
            {cuda::floats(op.input) + op.first, op.stride, op.samples()}, op.rank, found, run_);
        !done)
        return done;
    const auto selected = run_.read(found);
    if (!selected)
        return selected.failure();
    op.magnitude = std::bit_cast<float>(selected->magnitude);
    return {};
}

result<void> cuda_operations::start(const count_at_least& op) {
    const auto least = std::bit_cast<std::uint32_t>(op.magnitude) & 0x7fffffff;
    const auto count =
        cuda::reduced(run_, op.input.elements(), 0ull, is_at_least{cuda::floats(op.input), least},
                      cuda::plus{}, {&op.input});
    if (!count)
        return count.failure();
    op.count = *count;
    return {};
}

} // namespace troupe
