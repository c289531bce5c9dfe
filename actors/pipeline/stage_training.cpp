#include <algorithm>
#include <cmath>
#include <string>

#include "actors/pipeline/stage_actor.hpp"
#include "actors/pipeline/stage_messages.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/params.capnp.h"

namespace troupe {

// ---- what comes next ------------------------------------------------------------------------------------------------

void stage_actor::go_on() {
    if (!work_.is_idle() || !agreement_ || agreement_->is_waiting())
        return;
    if (snapshot_due_ && agreement_->is_settled())
        tell_snapshot();
    if (!work_.is_idle())
        return;
    if (!state_.arrivals.is_running()) {
        if (evaluation_.is_due())
            agreement_->is_settled() ? evaluation_.start() : agreement_->settle();
        return;
    }
    pass_on_end();
    std::optional<instruction> next;
    switch (what_is_next(next)) {
    case step::wait:
        return;
    case step::agree:
        return agreement_->act();
    case step::pass:
        return start(*next);
    case step::skip:
        return skip_update();
    case step::agree_last:
        return agreement_->act_at_end();
    case step::finish:
        return finish_epoch();
    }
}

step stage_actor::what_is_next(std::optional<instruction>& next) const {
    const stage_arrivals& arrivals = state_.arrivals;
    next = next_instruction(options_.schedule, options_.place, arrivals.shape(), state_.position);
    return next_step({.before = agreement_->before_pass(),
                      .next = next,
                      .data_ended = arrivals.data_has_ended(),
                      .lacks_updates = state_.position.updates < state_.share().updates(),
                      .at_end = agreement_->at_end()});
}

// The end of the data follows the last activation down the pipeline.
void stage_actor::pass_on_end() {
    const epoch_share& share = state_.share();
    if (!state_.arrivals.data_has_ended() || end_passed_on_ ||
        state_.position.forward_minibatch < share.shape().minibatches)
        return;
    end_passed_on_ = true;
    for (const actor_address next : state_.neighbours.next) {
        frame_builder<proto::EndOfData> onward;
        onward.body().setEpoch(share.number());
        onward.body().setMinibatches(share.whole().minibatches);
        onward.body().setOwn(share.shape().minibatches);
        send(next, std::move(onward));
    }
}

void stage_actor::start(const instruction& i) {
    switch (i.what) {
    case pass::forward:
        return start_forward(i);
    case pass::backward:
        return start_backward(i);
    case pass::update:
        return start_update(i);
    }
}

void stage_actor::submit_pass(const instruction& i, stage_work work) {
    work.then = [this, i, then = std::move(work.then)] {
        then();
        state_.position = position_after(i, state_.arrivals.shape(), state_.position);
    };
    submit(std::move(work));
}

batch_part stage_actor::part_of(const instruction& i) const {
    const epoch_share& share = state_.share();
    const sample_range rows = share.shape().rows_of(i.minibatch, i.microbatch);
    const std::uint64_t samples =
        options_.sync.sums_gradients && !options_.stages_differ()
            ? samples_of_round(share.whole(), options_.replica.replicas, i.minibatch)
            : share.shape().samples_of(i.minibatch);
    return {.training = true,
            .seed = options_.seed,
            .minibatch = share.run_minibatch(i.minibatch),
            .first_row = rows.first,
            .share = static_cast<float>(rows.count) / static_cast<float>(samples)};
}

// ---- forward --------------------------------------------------------------------------------------------------------

result<loss_result> loss_of(compute_context& context, const stage_program& program,
                            const tensor& output, const tensor& labels, float scale) {
    const auto here = copied_to_device(context, labels);
    return here ? program.loss(context, output, *here, scale) : here.failure();
}

error not_finite(compute_context& context, const stage_program& program, const weights& w,
                 const batch_part& part, const std::vector<tensor>& inputs,
                 const std::string& loss) {
    const std::string what = loss + " is not a number: ";
    const auto layer = program.first_not_finite(context, w, part, inputs);
    if (!layer)
        return layer.failure().in(what);
    return {errc::numeric,
            what + (layer->empty() ? "nor are the values that reach " + program.first_layer()
                                   : *layer + " is the first layer that gives none")};
}

void stage_actor::start_forward(const instruction& i) {
    stage_arrivals& arrivals = state_.arrivals;
    if (!arrivals.has_activation() || (options_.is_last() && !arrivals.has_labels()))
        return;
    const weight_version version = state_.weights.latest()->version;
    TROUPE_CHECK(version.value() ==
                     arrivals.first_version().value() +
                         version_used(options_.schedule, options_.place, i.minibatch),
                 "a forward pass uses the version that the delayed-version equation says");
    const frame_ptr activation = arrivals.next_activation();
    tensor labels;
    float scale = 0; // of the loss gradient
    if (options_.is_last()) {
        const auto arrived = arrivals.next_labels(i);
        if (!arrived)
            return fail(arrived.failure());
        labels = (*arrived)->tensors()[0];
        const std::uint64_t counted = (*arrived)->body<proto::Labels>().getCounted();
        scale = 1.0f / static_cast<float>(std::max<std::uint64_t>(counted, 1));
    }
    const std::uint32_t samples = arrivals.shape().rows_of(i.minibatch, i.microbatch).count;
    const pass_id pass{i.minibatch, i.microbatch};
    const weights_ptr used = state_.weights.hold(pass);
    stash_[pass] = {.reading = agreement_->reading(),
                    .sender_version = activation->body<proto::Activation>().getWeightVersion()};
    auto made = std::make_shared<forward_outcome>();
    submit_pass(
        i, {.label = proto::FORWARD_WORK->cStr(),
            .minibatch = minibatch_id{state_.share().run_minibatch(i.minibatch)},
            .version = version,
            .flops = options_.program->forward_flops_per_sample() * samples,
            .priority = task_priority::usual,
            .work = [made, program = options_.program, used, part = part_of(i),
                     arrived = tensors_of(*activation),
                     arrives_as = state_.neighbours.routes.from_previous, samples,
                     labels = std::move(labels), scale, to_next = state_.neighbours.routes.to_next,
                     sent_as = options_.activations](compute_context& context,
                                                     copied_weights& copies) -> result<void> {
                auto here = copies.on_device(context, used);
                if (!here)
                    return here.failure();
                std::vector<tensor> inputs = arrived;
                if (auto in = receive_tensors(context, arrives_as.get(), inputs, samples); !in)
                    return in;
                auto forward = program->forward(context, **here, part, inputs);
                if (!forward)
                    return forward.failure();
                made->forward = std::move(forward).value();
                if (!labels)
                    return export_tensors(context, made->forward.outputs, to_next, sent_as.get());
                auto loss = loss_of(context, *program, made->forward.outputs[0], labels, scale);
                if (!loss)
                    return loss.failure();
                made->loss = std::move(loss).value();
                if (!std::isfinite(made->loss.loss_sum))
                    return not_finite(context, *program, **here, part, inputs,
                                      "the loss of minibatch " + std::to_string(part.minibatch));
                return {};
            },
            .then = [this, i, made] { finish_forward(i, *made); }});
}

void stage_actor::finish_forward(const instruction& i, forward_outcome& made) {
    const pass_id pass{i.minibatch, i.microbatch};
    stashed& s = stash_.at(pass);
    s.saved = std::move(made.forward.saved);
    if (options_.is_last()) {
        s.loss_gradient = std::move(made.loss.gradient);
        return count_loss(i, made.loss);
    }
    const epoch_share& share = state_.share();
    const std::uint64_t minibatch = share.run_minibatch(i.minibatch);
    const std::uint64_t version = state_.weights.held(pass)->version.value();
    auto activation = microbatch_message<proto::Activation>(minibatch, i.microbatch);
    activation.body().setWeightVersion(version);
    activation.envelope().setWeightVersion(version);
    for (tensor& output : made.forward.outputs)
        activation.attach(std::move(output));
    send(state_.neighbours.next[share.replica_of(minibatch, state_.neighbours.next.size())],
         std::move(activation));
}

void stage_actor::count_loss(const instruction& i, const loss_result& loss) {
    loss_result& sums = state_.counts.of_minibatch;
    sums.loss_sum += loss.loss_sum;
    sums.counted += loss.counted;
    sums.correct += loss.correct;
    const epoch_share& share = state_.share();
    if (i.microbatch + 1 < share.shape().microbatches_of(i.minibatch))
        return;
    const std::uint64_t minibatch = share.run_minibatch(i.minibatch);
    frame_builder<proto::MinibatchDone> done;
    done.body().setMinibatch(minibatch);
    done.body().setSamples(share.shape().samples_of(i.minibatch));
    done.body().setLossSum(sums.loss_sum);
    done.body().setCorrect(sums.correct);
    done.body().setCounted(sums.counted);
    done.envelope().setMinibatch(minibatch);
    send(options_.trainer, std::move(done));
    sums = {};
}

// ---- backward -------------------------------------------------------------------------------------------------------

void stage_actor::start_backward(const instruction& i) {
    const pass_id pass{i.minibatch, i.microbatch};
    stashed& s = stash_.at(pass);
    const weights_ptr used = state_.weights.held(pass);
    std::vector<tensor> gradients{std::move(s.loss_gradient)};
    if (!options_.is_last()) {
        if (!state_.arrivals.has_gradient(i))
            return;
        const auto arrived = state_.arrivals.next_gradient(i, used->version);
        if (!arrived)
            return fail(arrived.failure());
        gradients = tensors_of(**arrived);
    }
    const std::uint32_t samples = state_.arrivals.shape().rows_of(i.minibatch, i.microbatch).count;
    const auto buckets = agreement_->begin_sum(i);
    auto made = std::make_shared<backward_outcome>();
    // Tensors are moved into the work: it may overwrite those that nobody else holds.
    submit_pass(
        i,
        {.label = proto::BACKWARD_WORK->cStr(),
         .minibatch = minibatch_id{state_.share().run_minibatch(i.minibatch)},
         .version = used->version,
         .flops = options_.program->backward_flops_per_sample() * samples +
                  (buckets && options_.encoder ? options_.program->parameter_bytes() : 0.0),
         .work = [made, program = options_.program, used, part = part_of(i),
                  saved = std::make_shared<saved_activations>(std::move(s.saved)),
                  gradients = std::make_shared<std::vector<tensor>>(std::move(gradients)),
                  sum = std::make_shared<std::vector<tensor>>(std::move(state_.gradients)), buckets,
                  as_factors = options_.as_factors,
                  to_previous = state_.neighbours.routes.to_previous,
                  arrives_as = state_.neighbours.routes.from_next, sent_as = options_.activations,
                  samples](compute_context& context, copied_weights& copies) -> result<void> {
             auto here = copies.on_device(context, used);
             if (!here)
                 return here.failure();
             if (auto in = receive_tensors(context, arrives_as.get(), *gradients, samples); !in)
                 return in;
             const stage_program::gradients_hook ready = [&](std::size_t first,
                                                             std::span<const tensor> some) {
                 return buckets->add(context, first, some);
             };
             auto backward = program->backward(context, **here, part, std::move(*saved),
                                               std::move(*gradients), buckets ? &ready : nullptr,
                                               as_factors.empty() ? nullptr : &as_factors);
             if (!backward)
                 return backward.failure();
             made->input_gradients = std::move(backward->input_gradients);
             if (auto exported =
                     export_tensors(context, made->input_gradients, to_previous, sent_as.get());
                 !exported)
                 return exported;
             std::vector<tensor> own = std::move(backward->weight_gradients);
             if (buckets) {
                 auto rest =
                     buckets->rest(context, std::span{own}.subspan(program->parameters().size()));
                 if (!rest)
                     return rest.failure();
                 made->sum = std::move(rest).value();
                 own.clear();
                 return copy_to_host(context, made->sum);
             }
             made->sum = std::move(*sum);
             if (made->sum.empty()) {
                 made->sum = std::move(own);
                 return {};
             }
             return accumulate(context, made->sum, own, as_factors);
         },
         .then = [this, i, made] { finish_backward(i, *made); }});
    state_.gradients.clear();
}

void stage_actor::finish_backward(const instruction& i, backward_outcome& made) {
    const pass_id pass{i.minibatch, i.microbatch};
    const stashed s = std::move(stash_.extract(pass).mapped());
    const weight_version used = state_.weights.held(pass)->version;
    state_.weights.let_go(pass);
    agreement_->take_gradients(std::move(made.sum));
    const epoch_share& share = state_.share();
    const std::uint64_t minibatch = share.run_minibatch(i.minibatch);
    auto gradient = microbatch_message<proto::Gradient>(minibatch, i.microbatch);
    gradient.body().setWeightVersion(s.sender_version);
    gradient.envelope().setWeightVersion(used.value());
    for (tensor& of_input : made.input_gradients)
        gradient.attach(std::move(of_input));
    send(state_.neighbours.previous[share.replica_of(minibatch, state_.neighbours.previous.size())],
         std::move(gradient));
    // Lags are counted once per minibatch, at its last backward pass.
    if (state_.position.backward_count + 1 == share.shape().microbatches_of(i.minibatch))
        agreement_->gradients_complete(used, s.reading);
}

void stage_actor::finish_epoch() {
    TROUPE_CHECK(stash_.empty() && state_.gradients.empty(), "a drained pipeline holds nothing");
    const epoch_share share = state_.share();
    if (options_.sync.assigns_dynamically() || options_.stages_differ())
        // The versions of all stages advance by the epoch's minibatches.
        state_.weights.renumber(
            weight_version{state_.arrivals.first_version().value() + share.whole().minibatches});
    frame_builder<proto::StageEpochDone> done;
    done.body().setEpoch(share.number());
    done.body().setStage(options_.place.stage);
    done.body().setReplica(options_.replica.replica);
    done.body().setWeightVersion(agreement_->version().value());
    done.body().setMinibatches(share.whole().minibatches);
    state_.counts.write(done.body(), now());
    const memory_pool_statistics used = options_.compute->memory().statistics();
    auto memory = done.body().initMemory();
    memory.setBytesInUsePeak(used.bytes_in_use_peak);
    memory.setBytesReserved(used.bytes_reserved);
    memory.setSystemAllocations(used.system_allocations_total);
    state_.arrivals.end();
    send(options_.trainer, std::move(done));
    go_on();
}

} // namespace troupe
