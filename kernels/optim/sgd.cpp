#include "kernels/ops/ops.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe {

namespace {

// Memory for the new values of `old`: its own where we are its only holder, so that the update
// happens in place.
result<tensor> target_for(compute_context& context, const tensor& old) {
    if (old.unique())
        return old;
    return tensor::allocate(context.memory, data_type::float32, old.shape());
}

} // namespace

result<void> accumulate(compute_context& context, std::vector<tensor>& sum,
                        std::span<const tensor> more) {
    TROUPE_CHECK(sum.size() == more.size(), "gradients of the same parameters are added");
    for (std::size_t i = 0; i < sum.size(); ++i) {
        TROUPE_CHECK(sum[i].unique(), "a sum is written by its only holder");
        if (auto done = context.ops.run(add_scaled{sum[i], 1, more[i], sum[i]}); !done)
            return done;
    }
    return {};
}

result<weights_ptr> sgd::step(compute_context& context, weights_ptr current,
                              std::span<const tensor> gradients) const {
    TROUPE_CHECK(gradients.size() == current->parameters.size(), "one gradient per parameter");
    TROUPE_CHECK(momentum == 0 || current->momentum.size() == current->parameters.size(),
                 "momentum was asked for at initialisation");
    auto next = std::make_shared<weights>();
    next->version = current->version.next();
    const weights old = *current;
    current.reset(); // from here on unique() means that nobody else reads the old version
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const tensor& weight = old.parameters[i];
        auto new_weight = target_for(context, weight);
        if (!new_weight)
            return new_weight.failure();
        if (momentum == 0) {
            if (auto done =
                    context.ops.run(add_scaled{weight, -learning_rate, gradients[i], *new_weight});
                !done)
                return done.failure();
        } else {
            const tensor& velocity = old.momentum[i];
            auto new_velocity = target_for(context, velocity);
            if (!new_velocity)
                return new_velocity.failure();
            auto done = context.ops.run(momentum_update{.learning_rate = learning_rate,
                                                        .momentum = momentum,
                                                        .gradient = gradients[i],
                                                        .weight = weight,
                                                        .velocity = velocity,
                                                        .new_weight = *new_weight,
                                                        .new_velocity = *new_velocity});
            if (!done)
                return done.failure();
            next->momentum.push_back(std::move(*new_velocity));
        }
        next->parameters.push_back(std::move(*new_weight));
    }
    return weights_ptr{std::move(next)};
}

} // namespace troupe
