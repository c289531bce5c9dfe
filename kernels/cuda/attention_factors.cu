#include "kernels/cuda/attention_factors.hpp"

#include "kernels/cuda/factors.hpp"
#include "kernels/cuda/indices.hpp"

namespace troupe::cuda {

namespace {

template <class Index>
struct rounding {
    precision products;
    const float* from;
    std::size_t stride;
    divisor<Index> width;
    float* to;

    __device__ void operator()(std::size_t i) const {
        const auto at = width.divide(static_cast<Index>(i));
        to[i] = factor(from[at.quotient * stride + at.remainder], products);
    }
};

} // namespace

result<sequence_columns<const float>> attention_factors::of(const columns& c) {
    const sequence_columns<const float> given = columns_of(c);
    if (!rounds(products_))
        return given;
    const std::size_t count = c.of.shape()[0] * given.positions * width_;
    auto memory = run_.scratch(count * sizeof(float));
    if (!memory)
        return memory.failure();
    float* const to = floats(kept_.emplace_back(std::move(*memory)));
    const auto status = with_index({count}, [&](auto index) {
        using index_type = decltype(index);
        return launch_elements(run_.stream(), count,
                               rounding<index_type>{products_, given.values, given.stride,
                                                    divisor<index_type>{width_}, to});
    });
    if (auto done = checked(status, {&c.of}); !done)
        return done.failure();
    return sequence_columns<const float>{to, width_, given.positions};
}

} // namespace troupe::cuda
