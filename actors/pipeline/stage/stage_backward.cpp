// The backward passes of a stage: whole, or in two halves.
#include <utility>

#include "actors/pipeline/stage/stage_messages.hpp"
#include "actors/pipeline/stage/stage_passes.hpp"
#include "schemas/pipeline.capnp.h"

namespace troupe {

// Adds what a pass has made to the sum of its minibatch, or gives it to the buckets, which leave the statistics.
struct stage_passes::gradient_sum {
    std::shared_ptr<const stage_program> program;
    std::shared_ptr<gradient_buckets> buckets; // perhaps none
    std::vector<bool> as_factors;
    std::vector<tensor> sum;

    result<void> add(compute_context& context, std::vector<tensor> own) {
        if (buckets) {
            auto rest =
                buckets->rest(context, std::span{own}.subspan(program->parameters().size()));
            if (!rest)
                return rest.failure();
            sum = std::move(rest).value();
            own.clear();
            return copy_to_host(context, sum);
        }
        if (sum.empty()) {
            sum = std::move(own);
            return {};
        }
        return accumulate(context, sum, own, as_factors);
    }
    stage_program::gradients_hook to_buckets(compute_context& context) const {
        return [&context, b = buckets.get()](std::size_t first, std::span<const tensor> some) {
            return b->add(context, first, some);
        };
    }
    const std::vector<bool>* factors() const { return as_factors.empty() ? nullptr : &as_factors; }
};

// Tensors are moved into the work: it may overwrite those that nobody else holds.
result<std::shared_ptr<stage_passes::backward_inputs>>
stage_passes::take_inputs(const instruction& i) {
    const pass_id pass{i.minibatch, i.microbatch};
    stashed& s = stash_.at(pass);
    auto inputs = std::make_shared<backward_inputs>();
    inputs->used = weights_of(pass);
    inputs->part = part_of(i);
    inputs->samples = samples_of(i);
    inputs->gradients = {std::move(s.loss_gradient)};
    if (!options().at.is_last()) {
        const auto arrived = state().arrivals.next_gradient(i, s.version);
        if (!arrived)
            return arrived.failure();
        inputs->gradients = tensors_of(**arrived);
    }
    inputs->saved = std::move(s.saved);
    inputs->to_previous = state().neighbours.routes.to_previous;
    inputs->arrives_as = state().neighbours.routes.from_next;
    inputs->sent_as = options().activations;
    return inputs;
}

template <class Run>
result<void> stage_passes::make_input_gradients(compute_context& context, backward_inputs& from,
                                                std::vector<tensor>& made, const Run& run) {
    if (auto in = receive_tensors(context, from.arrives_as.get(), from.gradients, from.samples);
        !in)
        return in;
    if (auto done = run(); !done)
        return done;
    return export_tensors(context, made, from.to_previous, from.sent_as.get());
}

stage_work stage_passes::work_of(const instruction& i, const char* label,
                                 double flops_per_sample) const {
    return {.label = label,
            .minibatch = minibatch_id{state().share().run_minibatch(i.minibatch)},
            .version = stash_.at({i.minibatch, i.microbatch}).version,
            .flops = flops_per_sample * samples_of(i)};
}

result<stage_work> stage_passes::backward(const instruction& i,
                                          std::shared_ptr<gradient_buckets> buckets,
                                          std::function<void(pass_gradients)> take) {
    const double encoding =
        buckets && options().agreement.encoder ? options().program->parameter_bytes() : 0.0;
    auto sum = std::make_shared<gradient_sum>(gradient_sum{options().program, std::move(buckets),
                                                           options().agreement.as_factors,
                                                           std::exchange(state().gradients, {})});
    auto work = i.what == step_kind::backward_weight
                    ? second_half(i, std::move(sum), std::move(take))
                    : whole(i, std::move(sum), std::move(take));
    if (work)
        work->flops += encoding;
    return work;
}

result<stage_work> stage_passes::second_half(const instruction& i,
                                             std::shared_ptr<gradient_sum> sum,
                                             std::function<void(pass_gradients)> take) {
    const pass_id pass{i.minibatch, i.microbatch};
    stage_work work = work_of(i, proto::BACKWARD_WEIGHT_WORK->cStr(),
                              options().program->weight_half_flops_per_sample());
    work.work = [sum, used = weights_of(pass), part = part_of(i),
                 rest = std::move(stash_.at(pass).half.rest)](
                    compute_context& context, copied_weights& copies) -> result<void> {
        auto here = copies.on_device(context, used);
        if (!here)
            return here.failure();
        const auto ready = sum->to_buckets(context);
        auto made = sum->program->backward_weights(context, **here, part, *rest,
                                                   sum->buckets ? &ready : nullptr, sum->factors());
        return made ? sum->add(context, std::move(*made)) : made.failure();
    };
    work.then = [this, i, sum, take = std::move(take)] { let_go(i, std::move(sum->sum), take); };
    return work;
}

result<stage_work> stage_passes::whole(const instruction& i, std::shared_ptr<gradient_sum> sum,
                                       std::function<void(pass_gradients)> take) {
    auto inputs = take_inputs(i);
    if (!inputs)
        return inputs.failure();
    stage_work work =
        work_of(i, proto::BACKWARD_WORK->cStr(), options().program->backward_flops_per_sample());
    auto of_inputs = std::make_shared<std::vector<tensor>>();
    work.work = [sum, from = std::move(*inputs),
                 of_inputs](compute_context& context, copied_weights& copies) -> result<void> {
        auto here = copies.on_device(context, from->used);
        if (!here)
            return here.failure();
        std::vector<tensor> own;
        const auto run = [&]() -> result<void> {
            const auto ready = sum->to_buckets(context);
            auto made = sum->program->backward(context, **here, from->part, std::move(from->saved),
                                               std::move(from->gradients),
                                               sum->buckets ? &ready : nullptr, sum->factors());
            if (!made)
                return made.failure();
            *of_inputs = std::move(made->input_gradients);
            own = std::move(made->weight_gradients);
            return {};
        };
        if (auto made = make_input_gradients(context, *from, *of_inputs, run); !made)
            return made;
        return sum->add(context, std::move(own));
    };
    work.then = [this, i, sum, of_inputs, take = std::move(take)] {
        const stashed s = let_go(i, std::move(sum->sum), take);
        send_gradient(i, s, std::move(*of_inputs));
    };
    return work;
}

result<stage_work> stage_passes::backward_input(const instruction& i) {
    auto inputs = take_inputs(i);
    if (!inputs)
        return inputs.failure();
    const auto& program = options().program;
    stage_work work =
        work_of(i, proto::BACKWARD_INPUT_WORK->cStr(),
                program->backward_flops_per_sample() - program->weight_half_flops_per_sample());
    auto half = std::make_shared<half_backward>();
    work.work = [half, program, from = std::move(*inputs)](compute_context& context,
                                                           copied_weights& copies) -> result<void> {
        auto here = copies.on_device(context, from->used);
        if (!here)
            return here.failure();
        return make_input_gradients(context, *from, half->input_gradients, [&]() -> result<void> {
            auto made = program->backward_inputs(
                context, **here, from->part, std::move(from->saved), std::move(from->gradients));
            if (!made)
                return made.failure();
            *half = std::move(*made);
            return {};
        });
    };
    work.then = [this, i, half] {
        stashed& s = stash_.at({i.minibatch, i.microbatch});
        send_gradient(i, s, std::exchange(half->input_gradients, {}));
        s.half = std::move(*half);
    };
    return work;
}

stage_passes::stashed stage_passes::let_go(const instruction& i, std::vector<tensor> sum,
                                           const std::function<void(pass_gradients)>& take) {
    const pass_id pass{i.minibatch, i.microbatch};
    stashed s = std::move(stash_.extract(pass).mapped());
    state().weights.let_go(pass);
    take({std::move(sum), s.version, s.reading});
    return s;
}

void stage_passes::send_gradient(const instruction& i, const stashed& s,
                                 std::vector<tensor> of_inputs) {
    const epoch_share& share = state().share();
    const std::uint64_t minibatch = share.run_minibatch(i.minibatch);
    auto gradient = microbatch_message<proto::Gradient>(minibatch, i.microbatch);
    gradient.body().setWeightVersion(s.sender_version);
    gradient.envelope().setStateVersion(s.version.value());
    for (tensor& of_input : of_inputs)
        gradient.attach(std::move(of_input));
    const auto& previous = state().neighbours.previous;
    stage_.send(previous[share.replica_of(minibatch, previous.size())], std::move(gradient));
}

} // namespace troupe
