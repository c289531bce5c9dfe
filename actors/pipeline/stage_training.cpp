#include <algorithm>
#include <cmath>
#include <string>

#include "actors/pipeline/gradient_buckets.hpp"
#include "actors/pipeline/stage_actor.hpp"
#include "actors/pipeline/stage_messages.hpp"

namespace troupe {

// ---- training -----------------------------------------------------------------------------------------------------

void stage_actor::advance() {
    if (running_ || reducing_ || asks_server_)
        return;
    if (snapshot_due_ && is_fresh_ && has_own_memory())
        tell_snapshot();
    if (running_)
        return;
    if (!epoch_) {
        if (!evaluation_.waiting.empty())
            start_evaluation();
        return;
    }
    pass_on_end();
    if (waits_for_exchange())
        return;
    if (addition_ && epoch_->position.updates > epoch_->exchanged_after)
        return add_up();
    if (exchange_is_due())
        return hand_over(false);
    const auto next =
        next_instruction(options_.schedule, options_.place, epoch_->shape, epoch_->position);
    if (!next) {
        if (!epoch_->data_ended)
            return;
        if (epoch_->position.updates < updates_of_epoch())
            return update_with_nothing();
        if (last_exchange_is_due())
            return hand_over(true);
        if (exchanging_)
            return;
        if (addition_)
            return add_up();
        return options_.cache && !epoch_->left_server ? leave_server() : finish_epoch();
    }
    switch (next->what) {
    case pass::forward:
        start_forward(*next);
        break;
    case pass::backward:
        start_backward(*next);
        break;
    case pass::update:
        start_update(*next);
        break;
    }
}

// The end of the data follows the last activation down the pipeline.
void stage_actor::pass_on_end() {
    if (!epoch_->data_ended || epoch_->end_passed_on ||
        epoch_->position.forward_minibatch < epoch_->shape.minibatches)
        return;
    epoch_->end_passed_on = true;
    for (const actor_address next : next_) {
        frame_builder<proto::EndOfData> onward;
        onward.body().setEpoch(epoch_->number);
        onward.body().setMinibatches(epoch_->whole.minibatches);
        onward.body().setOwn(epoch_->shape.minibatches);
        send(next, std::move(onward));
    }
}

result<loss_result> loss_of(compute_context& context, const stage_program& program,
                            const tensor& output, const tensor& labels, float scale) {
    const auto here = brought_in(context, labels);
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
    if (activations_.empty() || (is_last() && labels_.empty()))
        return;
    TROUPE_CHECK(latest_->version.value() ==
                     epoch_->first_version.value() +
                         version_used(options_.schedule, options_.place, i.minibatch),
                 "a forward pass uses the version that the delayed-version equation says");
    const frame_ptr activation = std::move(activations_.front());
    activations_.pop_front();
    tensor labels;
    float scale = 0; // of the gradient
    if (is_last()) {
        if (auto fits = check_labels(i); !fits)
            return fail(fits.failure());
        labels = labels_.front()->tensors()[0];
        const std::uint64_t counted = labels_.front()->body<proto::Labels>().getCounted();
        scale = 1.0f / static_cast<float>(std::max<std::uint64_t>(counted, 1));
        labels_.pop_front();
    }
    const std::uint32_t samples = epoch_->shape.rows_of(i.minibatch, i.microbatch).count;
    const weights_ptr used = for_passes(*latest_);
    stash_[{i.minibatch, i.microbatch}] = {
        used, {}, {}, epoch_->fetches, activation->body<proto::Activation>().getWeightVersion()};
    submit({.what = i,
            .label = proto::FORWARD_WORK->cStr(),
            .minibatch = minibatch_id{run_minibatch(i)},
            .version = latest_->version,
            .flops = options_.program->forward_flops_per_sample() * samples,
            .work = [program = options_.program, used, part = part_of(i),
                     arrived = tensors_of(*activation), arrives_as = from_previous_, samples,
                     labels = std::move(labels), scale, to_next = to_next_,
                     sent_as = options_.activations](compute_context& context,
                                                     work_results& out) -> result<void> {
                auto here = out.here(context, used);
                if (!here)
                    return here.failure();
                std::vector<tensor> inputs = arrived;
                if (auto in = take_in(context, arrives_as.get(), inputs, samples); !in)
                    return in;
                auto forward = program->forward(context, **here, part, inputs);
                if (!forward)
                    return forward.failure();
                out.forward = std::move(forward).value();
                if (!labels)
                    return hand_on(context, out.forward.outputs, to_next, sent_as.get());
                auto loss = loss_of(context, *program, out.forward.outputs[0], labels, scale);
                if (!loss)
                    return loss.failure();
                out.loss = std::move(loss).value();
                if (!std::isfinite(out.loss.loss_sum))
                    return not_finite(context, *program, **here, part, inputs,
                                      "the loss of minibatch " + std::to_string(part.minibatch));
                return {};
            },
            .then = [this, i] { finish_forward(i); }});
}

batch_part stage_actor::part_of(const instruction& i) const {
    const sample_range rows = epoch_->shape.rows_of(i.minibatch, i.microbatch);
    const std::uint64_t samples =
        options_.sync.sums_gradients && !stages_differ()
            ? samples_of_round(epoch_->whole, options_.replica.replicas, i.minibatch)
            : epoch_->shape.samples_of(i.minibatch);
    return {.training = true,
            .seed = options_.seed,
            .minibatch = run_minibatch(i),
            .first_row = rows.first,
            .share = static_cast<float>(rows.count) / static_cast<float>(samples)};
}

result<void> stage_actor::check_labels(const instruction& i) const {
    const frame& f = *labels_.front();
    const auto body = f.body<proto::Labels>();
    if (body.getMinibatch() != run_minibatch(i) || body.getMicrobatch() != i.microbatch)
        return error{errc::protocol,
                     "labels of " + name_of(body.getMinibatch(), body.getMicrobatch()) +
                         " arrive where " + name_of(run_minibatch(i), i.microbatch) + " is due"};
    const std::uint32_t samples = epoch_->shape.rows_of(i.minibatch, i.microbatch).count;
    if (auto fits = options_.program->check_labels(f.tensors(), samples); !fits)
        return fits.failure().in("labels of " + name_of(body.getMinibatch(), body.getMicrobatch()));
    return {};
}

void stage_actor::finish_forward(const instruction& i) {
    stashed& s = stash_.at({i.minibatch, i.microbatch});
    s.saved = std::move(results_->forward.saved);
    if (is_last()) {
        s.loss_gradient = std::move(results_->loss.gradient);
        return count_loss(i);
    }
    auto activation = microbatch_message<proto::Activation>(run_minibatch(i), i.microbatch);
    activation.body().setWeightVersion(s.used->version.value());
    activation.envelope().setWeightVersion(s.used->version.value());
    for (tensor& output : results_->forward.outputs)
        activation.attach(std::move(output));
    send(replica_of(next_, run_minibatch(i)), std::move(activation));
}

void stage_actor::count_loss(const instruction& i) {
    epoch_->minibatch_loss.loss_sum += results_->loss.loss_sum;
    epoch_->minibatch_loss.counted += results_->loss.counted;
    epoch_->minibatch_loss.correct += results_->loss.correct;
    if (i.microbatch + 1 < epoch_->shape.microbatches_of(i.minibatch))
        return;
    frame_builder<proto::MinibatchDone> done;
    done.body().setMinibatch(run_minibatch(i));
    done.body().setSamples(epoch_->shape.samples_of(i.minibatch));
    done.body().setLossSum(epoch_->minibatch_loss.loss_sum);
    done.body().setCorrect(epoch_->minibatch_loss.correct);
    done.body().setCounted(epoch_->minibatch_loss.counted);
    done.envelope().setMinibatch(run_minibatch(i));
    send(options_.trainer, std::move(done));
    epoch_->minibatch_loss = {};
}

void stage_actor::start_backward(const instruction& i) {
    stashed& s = stash_.at({i.minibatch, i.microbatch});
    std::vector<tensor> gradients{std::move(s.loss_gradient)};
    if (!is_last()) {
        if (gradients_.empty() ||
            (next_.size() > 1 && gradients_.front()->body<proto::Gradient>().getMinibatch() >
                                     run_minibatch(i))) // of a replica that is ahead of others
            return;
        if (auto fits = check_gradient(i, s); !fits)
            return fail(fits.failure());
        gradients = tensors_of(*gradients_.front());
        gradients_.pop_front();
    }
    const std::uint32_t samples = epoch_->shape.rows_of(i.minibatch, i.microbatch).count;
    std::shared_ptr<gradient_buckets> buckets;
    if (sums_during(i)) {
        begin_reduction(scale_of_gradients());
        buckets = std::make_shared<gradient_buckets>(
            std::exchange(gradient_sum_, {}),
            [stage = self_handle()](std::size_t first, std::vector<tensor> gradients) {
                frame_builder<proto::GradientsReady> ready;
                ready.body().setFirst(static_cast<std::uint32_t>(first));
                for (tensor& t : gradients)
                    ready.attach(std::move(t));
                stage.post(std::move(ready));
            },
            gradient_buckets::options{options_.encoder, epoch_->number, options_.as_factors});
    }
    // Moved into the work, so that it is the only holder of what can be overwritten.
    submit({.what = i,
            .label = proto::BACKWARD_WORK->cStr(),
            .minibatch = minibatch_id{run_minibatch(i)},
            .version = s.used->version,
            .flops = options_.program->backward_flops_per_sample() * samples +
                     (buckets && options_.encoder ? options_.program->parameter_bytes() : 0.0),
            .work = [program = options_.program, used = s.used, part = part_of(i),
                     saved = std::make_shared<saved_activations>(std::move(s.saved)),
                     gradients = std::make_shared<std::vector<tensor>>(std::move(gradients)),
                     sum = std::make_shared<std::vector<tensor>>(std::move(gradient_sum_)), buckets,
                     as_factors = options_.as_factors, to_previous = to_previous_,
                     arrives_as = from_next_, sent_as = options_.activations,
                     samples](compute_context& context, work_results& out) -> result<void> {
                auto here = out.here(context, used);
                if (!here)
                    return here.failure();
                if (auto in = take_in(context, arrives_as.get(), *gradients, samples); !in)
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
                out.backward = std::move(backward).value();
                if (auto out_there =
                        hand_on(context, out.backward.input_gradients, to_previous, sent_as.get());
                    !out_there)
                    return out_there;
                if (buckets) {
                    auto rest =
                        buckets->rest(context, std::span{out.backward.weight_gradients}.subspan(
                                                   program->parameters().size()));
                    if (!rest)
                        return rest.failure();
                    out.gradient_sum = std::move(rest).value();
                    out.backward.weight_gradients.clear();
                    return take_out(context, out.gradient_sum);
                }
                out.gradient_sum = std::move(*sum);
                if (out.gradient_sum.empty()) {
                    out.gradient_sum = std::move(out.backward.weight_gradients);
                    return {};
                }
                return accumulate(context, out.gradient_sum, out.backward.weight_gradients,
                                  as_factors);
            },
            .then = [this, i] { finish_backward(i); }});
}

result<void> stage_actor::check_gradient(const instruction& i, const stashed& s) const {
    const frame& f = *gradients_.front();
    const auto body = f.body<proto::Gradient>();
    const std::string what = "gradient of " + name_of(body.getMinibatch(), body.getMicrobatch());
    if (body.getMinibatch() != run_minibatch(i) || body.getMicrobatch() != i.microbatch)
        return error{errc::protocol, what + " arrives where " +
                                         name_of(run_minibatch(i), i.microbatch) + " is due"};
    if (f.from() != replica_of(next_, body.getMinibatch()))
        return error{errc::protocol, what + " comes from a replica that has not this minibatch"};
    if (body.getWeightVersion() != s.used->version.value())
        return error{errc::protocol, what + " is for weight version " +
                                         std::to_string(body.getWeightVersion()) + ", stashed is " +
                                         std::to_string(s.used->version.value())};
    const std::uint32_t samples = epoch_->shape.rows_of(i.minibatch, i.microbatch).count;
    const auto fits = from_next_ ? from_next_->check(f.tensors(), samples)
                                 : options_.program->check_gradients(f.tensors(), samples);
    return fits ? result<void>{} : fits.failure().in(what);
}

void stage_actor::finish_backward(const instruction& i) {
    const auto s = stash_.extract({i.minibatch, i.microbatch});
    if (reducing_ || summed_) { // what is left, if anything; averages come first
        std::vector<tensor> rest = std::move(results_->gradient_sum);
        const auto averages = static_cast<std::ptrdiff_t>(options_.program->averages().size());
        std::ranges::rotate(rest, rest.end() - averages);
        if (!rest.empty())
            give(0, std::move(rest));
    } else {
        gradient_sum_ = std::move(results_->gradient_sum);
    }
    auto gradient = microbatch_message<proto::Gradient>(run_minibatch(i), i.microbatch);
    gradient.body().setWeightVersion(s.mapped().sender_version);
    gradient.envelope().setWeightVersion(s.mapped().used->version.value());
    for (tensor& of_input : results_->backward.input_gradients)
        gradient.attach(std::move(of_input));
    send(replica_of(previous_, run_minibatch(i)), std::move(gradient));
    // Lags are counted once per minibatch, at its last backward pass.
    if (epoch_->position.backward_count + 1 < epoch_->shape.microbatches_of(i.minibatch))
        return;
    if (options_.cache) // a parameter server counts them; it has more updates than this stage sees
        epoch_->gradient_fetches = s.mapped().fetches;
    else
        count_lag(latest_->version.value() - s.mapped().used->version.value());
}

void stage_actor::count_lag(std::uint64_t lag) {
    if (epoch_->lags.size() <= lag)
        epoch_->lags.resize(lag + 1);
    ++epoch_->lags[lag];
}

void stage_actor::finish_epoch() {
    TROUPE_CHECK(stash_.empty() && gradient_sum_.empty(), "a drained pipeline holds nothing");
    if (is_dealt() || stages_differ()) { // the versions of all stages are as many on
        auto last = std::make_shared<weights>(*latest_);
        last->version = weight_version{epoch_->first_version.value() + epoch_->whole.minibatches};
        latest_ = std::move(last);
    }
    frame_builder<proto::StageEpochDone> done;
    done.body().setEpoch(epoch_->number);
    done.body().setStage(options_.place.stage);
    done.body().setReplica(options_.replica.replica);
    done.body().setWeightVersion(version_to_tell());
    done.body().setMinibatches(epoch_->whole.minibatches);
    auto lags = done.body().initLags(static_cast<unsigned>(epoch_->lags.size()));
    for (unsigned k = 0; k < lags.size(); ++k)
        lags.set(k, epoch_->lags[k]);
    done.body().setDropped(epoch_->dropped);
    done.body().setBusyNs(epoch_->busy_ns);
    done.body().setEpochNs((now() - epoch_->began).count());
    const memory_pool_statistics used = options_.compute->memory().statistics();
    auto memory = done.body().initMemory();
    memory.setBytesInUsePeak(used.bytes_in_use_peak);
    memory.setBytesReserved(used.bytes_reserved);
    memory.setSystemAllocations(used.system_allocations_total);
    epoch_.reset();
    send(options_.trainer, std::move(done));
    advance();
}

} // namespace troupe
