#include "actors/params/shard_update.hpp"

#include <algorithm>
#include <string>

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

result<std::vector<tensor>> allocate_like(compute_context& context,
                                          const std::vector<tensor>& tensors) {
    std::vector<tensor> made;
    for (const tensor& t : tensors) {
        auto one = tensor::allocate(context.memory, data_type::float32, t.shape());
        if (!one)
            return one.failure();
        made.push_back(std::move(*one));
    }
    return made;
}

// Replaces the payloads by gradients.
result<void> decode(compute_context& context, const payload_forms& forms, const weights& current,
                    pushed_gradients& p) {
    for (std::size_t i = 0; i < std::min(forms.size(), p.gradients.size()); ++i) {
        if (!forms[i])
            continue;
        auto gradient = decoded(context, *forms[i], current.parameters[i].shape(), p.gradients[i]);
        if (!gradient)
            return gradient.failure().in("what worker " + std::to_string(p.worker) + " pushed");
        p.gradients[i] = std::move(*gradient);
    }
    return {};
}

// Replaces the payloads of the weights that the gradients were computed with by those weights.
result<void> decode_pulled(compute_context& context, const shard_update_rules& rules,
                           const weights& current, pushed_gradients& p) {
    if (!rules.pulls || !p.pulled || p.late == 0)
        return {};
    std::vector<tensor_shape> shapes;
    for (const tensor& t : current.parameters)
        shapes.push_back(t.shape());
    auto pulled = std::make_shared<weights>(*p.pulled);
    auto done = decode_numbers(context, *rules.pulls, shapes, pulled->parameters);
    p.pulled = std::move(pulled);
    return done;
}

result<void> begin_mean_square(compute_context& context, const std::vector<tensor>& like,
                               std::vector<tensor>& mean_square) {
    if (!mean_square.empty())
        return {};
    auto zeros = allocate_like(context, like);
    if (!zeros)
        return zeros.failure();
    for (tensor& t : *zeros)
        if (auto done = context.ops.run(fill{t, 0}); !done)
            return done;
    mean_square = std::move(*zeros);
    return {};
}

// Replaces the gradients by compensated ones; gradients that are not late stay bit-identical.
result<void> compensate(compute_context& context, const delay_compensation& how,
                        const weights& current, pushed_gradients& p,
                        std::vector<tensor>& mean_square) {
    if (how.decay)
        if (auto begun = begin_mean_square(context, p.gradients, mean_square); !begun)
            return begun;
    const bool late = p.late > 0 && p.pulled;
    if (!late && !how.decay)
        return {};
    auto corrected = allocate_like(context, p.gradients);
    if (!corrected)
        return corrected.failure();
    for (std::size_t i = 0; i < p.gradients.size(); ++i) {
        tensor* const mean = how.decay ? &mean_square[i] : nullptr;
        const tensor& pulled = late ? p.pulled->parameters[i] : current.parameters[i];
        if (auto done = context.ops.run(compensate_delay{.factor = how.factor,
                                                         .gradient = p.gradients[i],
                                                         .weight = current.parameters[i],
                                                         .pulled = pulled,
                                                         .corrected = (*corrected)[i],
                                                         .decay = how.decay.value_or(0),
                                                         .mean_square = mean,
                                                         .new_mean_square = mean});
            !done)
            return done;
    }
    if (late)
        p.gradients = std::move(*corrected);
    return {};
}

// Sums of the workers' gradients in their order, each times its share.
result<std::vector<tensor>> sum_of(compute_context& context, const consistency& rule,
                                   const std::vector<pushed_gradients>& pushed) {
    const auto share_of = [&](const pushed_gradients& p) {
        return rule.share(p.late, pushed.size());
    };
    if (pushed.size() == 1 && share_of(pushed.front()) == 1)
        return pushed.front().gradients;
    auto sums = allocate_like(context, pushed.front().gradients);
    if (!sums)
        return sums.failure();
    for (std::size_t i = 0; i < sums->size(); ++i) {
        auto done = context.ops.run(
            scale{pushed.front().gradients[i], share_of(pushed.front()), (*sums)[i]});
        for (std::size_t w = 1; done && w < pushed.size(); ++w)
            done = context.ops.run(
                add_scaled{(*sums)[i], share_of(pushed[w]), pushed[w].gradients[i], (*sums)[i]});
        if (!done)
            return done.failure();
    }
    return sums;
}

result<std::vector<tensor>> one_gradient(compute_context& context, const shard_update_rules& rules,
                                         std::vector<pushed_gradients>& pushed) {
    if (rules.how.by == aggregation::rule::mean)
        return sum_of(context, rules.rule, pushed);
    std::vector<std::vector<tensor>> sent;
    for (pushed_gradients& p : pushed)
        sent.push_back(std::move(p.gradients));
    return aggregate(context, rules.how, sent);
}

result<double> largest_change(compute_context& context, const std::vector<tensor>& before,
                              const std::vector<tensor>& after) {
    float most = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
        float largest = 0;
        if (auto done = context.ops.run(largest_difference{before[i], after[i], largest}); !done)
            return done.failure();
        most = std::max(most, largest);
    }
    return most;
}

} // namespace

delay_compensation delay_compensation::of(proto::DelayCompensation::Reader description) {
    switch (description.which()) {
    case proto::DelayCompensation::CONSTANT:
        return {.compensates = true, .factor = description.getConstant().getFactor(), .decay = {}};
    case proto::DelayCompensation::ADAPTIVE:
        return {.compensates = true,
                .factor = description.getAdaptive().getFactor(),
                .decay = description.getAdaptive().getDecay()};
    case proto::DelayCompensation::NONE:
        break;
    }
    return {};
}

result<void> check_pushed(const shard_update_rules& rules, std::span<const tensor_shape> shapes,
                          std::span<const tensor> tensors) {
    const error wrong{errc::protocol, "has not the gradients of the shard's parameters"};
    if (tensors.size() != shapes.size())
        return wrong;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        if (i < rules.forms.size() && rules.forms[i]) {
            if (auto payload = rules.forms[i]->check(shapes[i], tensors[i]); !payload)
                return payload;
        } else if (tensors[i].type() != data_type::float32 || tensors[i].shape() != shapes[i]) {
            return wrong;
        }
    return {};
}

result<shard_update> with_sent(compute_context& context, const shard_update_rules& rules,
                               weights_ptr next) {
    shard_update made{.next = std::move(next), .sent = {}};
    if (!rules.pulls)
        return made;
    made.sent = made.next->parameters;
    if (auto encoded = encode_numbers(context, rules.pulls.get(), made.sent); !encoded)
        return encoded.failure();
    return made;
}

result<shard_update> update_shard(compute_context& context, const shard_update_rules& rules,
                                  weights_ptr current, std::vector<pushed_gradients> pushed,
                                  float rate, std::vector<tensor>& mean_square) {
    for (pushed_gradients& p : pushed)
        if (auto done = decode(context, rules.forms, *current, p); !done)
            return done.failure();
    if (rules.compensation.compensates)
        for (pushed_gradients& p : pushed) {
            auto done = decode_pulled(context, rules, *current, p);
            if (done)
                done = compensate(context, rules.compensation, *current, p, mean_square);
            if (!done)
                return done.failure();
        }
    auto gradient = one_gradient(context, rules, pushed);
    if (!gradient)
        return gradient.failure();
    std::vector<tensor> before; // held so that the update does not overwrite it
    if (rules.rule.bound)
        before = current->parameters;
    auto next = rules.optimizer->step(context, std::move(current), *gradient, rate);
    if (!next)
        return next.failure();
    auto updated = with_sent(context, rules, std::move(*next));
    if (!updated)
        return updated;
    shard_update made = std::move(*updated);
    if (rules.rule.bound) {
        const auto change = largest_change(context, before, made.next->parameters);
        if (!change)
            return change.failure();
        made.change = *change;
    }
    return made;
}

} // namespace troupe
