#include "kernels/optim/optimizer.hpp"

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

// Memory for the new values of `old`: its own where we are its only holder, so that the update happens in place.
result<tensor> target_for(compute_context& context, const tensor& old) {
    if (old.unique())
        return old;
    return tensor::allocate(context.memory, data_type::float32, old.shape());
}

result<tensor> rows_of_both(compute_context& context, const tensor& first, const tensor& second) {
    const std::size_t rows = first.shape()[0] + second.shape()[0];
    auto both = tensor::allocate(context.memory, data_type::float32, {rows, first.shape()[1]});
    if (!both)
        return both;
    const tensor parts[] = {first, second};
    const auto done = context.ops.run(concat{.axis = 0, .inputs = parts, .output = *both});
    return done ? std::move(both) : result<tensor>{done.failure()};
}

} // namespace

result<void> accumulate(compute_context& context, std::vector<tensor>& sum,
                        std::span<const tensor> more, const std::vector<bool>& as_factors) {
    TROUPE_CHECK(sum.size() == more.size(), "gradients of the same parameters are added");
    for (std::size_t i = 0; i < sum.size(); ++i) {
        if (i < as_factors.size() && as_factors[i]) {
            auto both = rows_of_both(context, sum[i], more[i]);
            if (!both)
                return both.failure();
            sum[i] = std::move(*both);
            continue;
        }
        TROUPE_CHECK(sum[i].unique(), "a sum is written by its only holder");
        if (auto done = context.ops.run(add_scaled{sum[i], 1, more[i], sum[i]}); !done)
            return done;
    }
    return {};
}

result<weights_ptr> next_version(compute_context& context, const stage_program& program,
                                 const optimizer& rule, weights_ptr current,
                                 std::span<const tensor> gradients, float learning_rate) {
    const std::size_t parameters = current->parameters.size();
    auto averages = program.next_averages(context, *current, gradients.subspan(parameters));
    if (!averages)
        return averages.failure();
    auto next = rule.step(context, std::move(current), gradients.first(parameters), learning_rate);
    if (!next)
        return next.failure();
    (*next)->averages = std::move(*averages);
    return weights_ptr{std::move(*next)};
}

result<std::shared_ptr<weights>> optimizer::step(compute_context& context, weights_ptr current,
                                                 std::span<const tensor> gradients,
                                                 float learning_rate) const {
    const std::size_t kinds = state().size();
    TROUPE_CHECK(gradients.size() == current->parameters.size(), "one gradient per parameter");
    TROUPE_CHECK(current->state.size() == kinds * gradients.size(),
                 "the state was made for this optimizer");
    TROUPE_CHECK(current->updates.size() == gradients.size(), "updates are counted by parameter");
    auto next = std::make_shared<weights>();
    next->version = current->version.next();
    const weights old = *current;
    current.reset(); // from here on unique() means that nobody else reads the old version
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        auto new_weight = target_for(context, old.parameters[i]);
        if (!new_weight)
            return new_weight.failure();
        const auto old_state = std::span{old.state}.subspan(i * kinds, kinds);
        std::vector<tensor> new_state;
        for (const tensor& kept : old_state) {
            auto target = target_for(context, kept);
            if (!target)
                return target.failure();
            new_state.push_back(std::move(*target));
        }
        next->updates.push_back(old.updates[i] + 1);
        auto done = update(context, {.learning_rate = learning_rate,
                                     .step = next->updates[i],
                                     .gradient = gradients[i],
                                     .weight = old.parameters[i],
                                     .state = old_state,
                                     .new_weight = *new_weight,
                                     .new_state = new_state});
        if (!done)
            return done.failure();
        next->parameters.push_back(std::move(*new_weight));
        std::ranges::move(new_state, std::back_inserter(next->state));
    }
    return next;
}

} // namespace troupe
