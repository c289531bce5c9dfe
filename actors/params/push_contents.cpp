#include "actors/params/push_contents.hpp"

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

result<std::vector<tensor>> sum_of(compute_context& context,
                                   std::span<const std::vector<tensor>> offered) {
    if (offered.size() == 1)
        return offered[0];
    std::vector<tensor> sums;
    for (std::size_t i = 0; i < offered[0].size(); ++i) {
        auto sum = tensor::allocate(context.memory, data_type::float32, offered[0][i].shape());
        if (!sum)
            return sum.failure();
        auto done = context.ops.run(add_scaled{offered[0][i], 1, offered[1][i], *sum});
        for (std::size_t m = 2; done && m < offered.size(); ++m)
            done = context.ops.run(add_scaled{*sum, 1, offered[m][i], *sum});
        if (!done)
            return done.failure();
        sums.push_back(std::move(*sum));
    }
    return sums;
}

} // namespace

result<std::vector<tensor>> push_contents(compute_context& context,
                                          std::span<const std::vector<tensor>> offered,
                                          gradient_encoder* encoder, std::uint32_t epoch) {
    auto sums = sum_of(context, offered);
    return sums && encoder != nullptr ? encoder->encode(context, 0, *sums, epoch) : std::move(sums);
}

} // namespace troupe
