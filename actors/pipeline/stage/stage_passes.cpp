#include "actors/pipeline/stage/stage_passes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "actors/pipeline/stage/stage_messages.hpp"
#include "schemas/pipeline.capnp.h"
#include "schemas/training.capnp.h"

namespace troupe {

bool stage_passes::has_inputs(const instruction& i) const {
    const stage_arrivals& arrivals = state().arrivals;
    if (i.what == step_kind::forward)
        return arrivals.has_activation() && (!options().at.is_last() || arrivals.has_labels());
    return i.what == step_kind::backward_weight || options().at.is_last() ||
           arrivals.has_gradient(i);
}

kept_activations stage_passes::kept() const {
    kept_activations kept;
    for (const auto& [pass, s] : stash_)
        kept.add(s.saved, s.loss_gradient, s.half.kept_bytes);
    return kept;
}

std::uint32_t stage_passes::samples_of(const instruction& i) const {
    return state().arrivals.shape().rows_of(i.minibatch, i.microbatch).count;
}

batch_part stage_passes::part_of(const instruction& i) const {
    const epoch_share& share = state().share();
    const sample_range rows = share.shape().rows_of(i.minibatch, i.microbatch);
    const std::uint64_t samples =
        options().agreement.sync.sums_gradients && !options().at.stages_differ()
            ? samples_of_round(share.whole(), options().at.replica.replicas, i.minibatch)
            : share.shape().samples_of(i.minibatch);
    return {.training = true,
            .seed = options().seed,
            .minibatch = share.run_minibatch(i.minibatch),
            .first_row = rows.first,
            .share = static_cast<float>(rows.count) / static_cast<float>(samples)};
}

// ---- forward --------------------------------------------------------------------------------------------------------

result<stage_work> stage_passes::forward(const instruction& i, std::uint64_t reading) {
    stage_arrivals& arrivals = state().arrivals;
    const weight_version version{arrivals.first_version().value() + state().order.version_of(i)};
    const frame_ptr activation = arrivals.next_activation();
    tensor labels;
    float scale = 0; // of the loss gradient
    if (options().at.is_last()) {
        const auto arrived = arrivals.next_labels(i);
        if (!arrived)
            return arrived.failure();
        labels = (*arrived)->tensors()[0];
        const std::uint64_t counted = (*arrived)->body<proto::Labels>().getCounted();
        scale = 1.0f / static_cast<float>(std::max<std::uint64_t>(counted, 1));
    }
    const std::uint32_t samples = samples_of(i);
    const pass_id pass{i.minibatch, i.microbatch};
    const weights_ptr used =
        stashes() ? state().weights.hold(pass, version) : state().weights.find(version);
    stash_[pass] = {.version = version,
                    .reading = reading,
                    .sender_version = activation->body<proto::Activation>().getWeightVersion()};
    auto made = std::make_shared<forward_outcome>();
    return stage_work{
        .label = proto::FORWARD_WORK->cStr(),
        .minibatch = minibatch_id{state().share().run_minibatch(i.minibatch)},
        .version = version,
        .flops = options().program->forward_flops_per_sample() * samples,
        .priority = task_priority::usual,
        .work = [made, program = options().program, used, part = part_of(i),
                 arrived = tensors_of(*activation),
                 arrives_as = state().neighbours.routes.from_previous, samples,
                 labels = std::move(labels), scale, to_next = state().neighbours.routes.to_next,
                 sent_as = options().activations](compute_context& context,
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
        .then = [this, i, made] { finish_forward(i, *made); }};
}

void stage_passes::finish_forward(const instruction& i, forward_outcome& made) {
    const pass_id pass{i.minibatch, i.microbatch};
    stashed& s = stash_.at(pass);
    s.saved = std::move(made.forward.saved);
    if (options().at.is_last()) {
        s.loss_gradient = std::move(made.loss.gradient);
        return count_loss(i, made.loss);
    }
    const epoch_share& share = state().share();
    const std::uint64_t minibatch = share.run_minibatch(i.minibatch);
    const std::uint64_t version = s.version.value();
    auto activation = microbatch_message<proto::Activation>(minibatch, i.microbatch);
    activation.body().setWeightVersion(version);
    activation.envelope().setStateVersion(version);
    for (tensor& output : made.forward.outputs)
        activation.attach(std::move(output));
    const auto& next = state().neighbours.next;
    stage_.send(next[share.replica_of(minibatch, next.size())], std::move(activation));
}

void stage_passes::count_loss(const instruction& i, const loss_result& loss) {
    loss_result& sums = state().counts.of_minibatch;
    sums.loss_sum += loss.loss_sum;
    sums.counted += loss.counted;
    sums.correct += loss.correct;
    const epoch_share& share = state().share();
    if (i.microbatch + 1 < share.shape().microbatches_of(i.minibatch))
        return;
    const std::uint64_t minibatch = share.run_minibatch(i.minibatch);
    frame_builder<proto::MinibatchDone> done;
    done.body().setMinibatch(minibatch);
    done.body().setSamples(share.shape().samples_of(i.minibatch));
    done.body().setLossSum(sums.loss_sum);
    done.body().setCorrect(sums.correct);
    done.body().setCounted(sums.counted);
    done.envelope().setWork(minibatch);
    stage_.send(options().trainer, std::move(done));
    sums = {};
}

} // namespace troupe
