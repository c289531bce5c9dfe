// Training as one loop in one thread, by the definition of the schedules: what pipelines are compared with, bit by bit.
//
// pipedream: the gradient of minibatch b is that of the loss with stage s at version max(0, b - (S-1-s)), counted from the
// start of the epoch, applied to the latest version. gpipe: gradients of the microbatches, summed last to first, applied
// once. What crosses between stages is rounded as the app says. Knows no actor, message or schedule.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "actors/data/batches.hpp"
#include "actors/data/dataset.hpp"
#include "actors/pipeline/epoch_shape.hpp"
#include "actors/pipeline/run_shape.hpp"
#include "kernels/codec/number_form.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/ops/ops.hpp"
#include "kernels/optim/clip.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe::test {

struct sequential_result {
    std::vector<weights_ptr> weights;     // by stage, after the last minibatch
    std::vector<double> minibatch_losses; // sums over their samples
};

class sequential_trainer {
  public:
    sequential_trainer(compute_context& context, proto::App::Reader app, const dataset& data,
                       const std::vector<std::size_t>& layers_of_stages, bool delayed,
                       std::uint32_t microbatches)
        : context_{context}, app_{app}, data_{data}, delayed_{delayed}, microbatches_{
                                                                            microbatches} {
        if (app.getTopology().isPipeline())
            crossing_ = make_number_form(app.getTopology().getPipeline().getActivations()).value();
        std::size_t first = 0;
        for (const std::size_t count : layers_of_stages) {
            stages_.push_back(stage_program::create(app.getModel(), {first, count}).value());
            first += count;
        }
    }

    // The pipeline was drained after so many minibatches of the run, as by a stop and a resume, and filled again.
    void drain_after(std::uint64_t minibatches) { drained_.insert(minibatches); }

    // Only minibatches `replica`, `replica` + `replicas`, ... of each epoch: what this replica does on its own.
    void take_share(replica_place share) { share_ = share; }

    // Stage s has replicas[s] replicas, which run first_forwards[s] forward passes before their first backward pass:
    // minibatch b is computed at version max(0, b / replicas - first_forwards), and an update is by the mean of `replicas`
    // gradients, those that a last round lacks being zeros, at `replicas` times the rate where the app counts it per sample.
    void replicate(std::vector<std::uint32_t> replicas, std::vector<std::uint32_t> first_forwards) {
        replicas_ = std::move(replicas);
        first_forwards_ = std::move(first_forwards);
    }

    // Minibatches are computed with weights rounded so; updates are of the weights as they are.
    void round_weights(proto::NumberForm form) { pulled_ = make_number_form(form).value(); }

    sequential_result run() {
        const auto train = app_.getTrain();
        const optimizer_ptr rule = make_optimizer(train.getOptimizer());
        std::uint64_t minibatches = 0;
        for (std::uint32_t epoch = 0; epoch < train.getEpochs(); ++epoch)
            minibatches += shape_of(epoch).minibatches;
        const learning_rates rates = make_learning_rates(train, minibatches);
        result_.weights.clear();
        for (const stage_program& stage : stages_)
            result_.weights.push_back(
                stage.initialise(context_, train.getSeed(), rule->state().size()).value());
        for (std::uint32_t epoch = 0; epoch < train.getEpochs(); ++epoch)
            run_epoch(epoch, *rule, rates);
        return std::move(result_);
    }

  private:
    epoch_shape shape_of(std::uint32_t epoch) const {
        return epoch_shape::of(data_.size(), batch_sizes::of(app_.getTrain()).at(epoch),
                               microbatches_);
    }

    void run_epoch(std::uint32_t epoch, const optimizer& rule, const learning_rates& rates) {
        const auto train = app_.getTrain();
        auto order = train.getShuffle() ? epoch_order(train.getSeed(), epoch, data_.size())
                                        : file_order(data_.size());
        const epoch_shape shape = shape_of(epoch);
        const batch_plan plan{std::move(order), shape.samples_per_minibatch};
        const std::size_t stages = stages_.size();
        // versions[s][v]: stage s after v updates of this epoch.
        std::vector<std::vector<weights_ptr>> versions(stages);
        for (std::size_t s = 0; s < stages; ++s)
            versions[s].push_back(result_.weights[s]);
        std::uint64_t filled = 0; // updates before the pipeline was filled last
        for (std::uint64_t b = 0; b < shape.minibatches; ++b) {
            const run_position at{epoch, minibatches_done_++};
            if (b % share_.replicas != share_.replica)
                continue;
            const std::uint64_t updates = versions[0].size() - 1; // of this epoch
            if (drained_.contains(at.minibatch))
                filled = updates;
            std::vector<weights_ptr> used;
            for (std::size_t s = 0; s < stages; ++s) {
                if (!replicas_.empty()) {
                    const std::uint64_t round = b / replicas_[s];
                    const std::uint64_t late = std::min<std::uint64_t>(round, first_forwards_[s]);
                    used.push_back(versions[s][round - late]);
                    continue;
                }
                const std::uint64_t delay = delayed_ ? stages - 1 - s : 0;
                used.push_back(versions[s][updates < filled + delay ? filled : updates - delay]);
            }
            for (weights_ptr& w : used) {
                auto rounded = std::make_shared<weights>(*w);
                round(pulled_, rounded->parameters);
                w = std::move(rounded);
            }
            const batch samples =
                fill_batch(data_, plan.indices(b), epoch, context_.memory).value();
            auto sums = gradients(samples, shape, b, at.minibatch, used);
            clip(sums);
            for (std::size_t s = 0; s < replicas_.size(); ++s)
                add_to_round(s, std::move(sums[s]), at, b, shape, rule, rates, versions[s]);
            for (std::size_t s = 0; replicas_.empty() && s < stages; ++s)
                versions[s].push_back(
                    next_version(context_, stages_[s], rule, versions[s].back(), sums[s], rates(at))
                        .value());
        }
        for (std::size_t s = 0; s < stages; ++s)
            result_.weights[s] = versions[s].back();
    }

    void add_to_round(std::size_t stage, std::vector<tensor> gradients, run_position at,
                      std::uint64_t b, const epoch_shape& shape, const optimizer& rule,
                      const learning_rates& rates, std::vector<weights_ptr>& versions) {
        const std::uint64_t in_round = b % replicas_[stage];
        auto& sum = round_sums_[stage];
        if (in_round == 0)
            sum = std::move(gradients);
        else
            TROUPE_CHECK(accumulate(context_, sum, gradients).ok(), "it fits");
        if (in_round + 1 < replicas_[stage] && b + 1 < shape.minibatches)
            return;
        for (tensor& t : sum)
            for (float& value : t.mutable_values<float>())
                value *= 1.0f / static_cast<float>(replicas_[stage]);
        at.minibatch -= in_round;
        const bool per_sample =
            app_.getTopology().getPipeline().getRate() == proto::StageRate::PER_SAMPLE;
        const float rate = rates(at) * (per_sample ? static_cast<float>(replicas_[stage]) : 1);
        versions.push_back(
            next_version(context_, stages_[stage], rule, versions.back(), sum, rate).value());
    }

    // To what their payloads are decoded to: numbers alone.
    void round(const number_form_ptr& form, std::vector<tensor>& values) {
        for (tensor& t : values)
            if (form && t.type() == data_type::float32)
                t = decoded(context_, *form, t.shape(), form->encode(context_, t).value()).value();
    }

    // Without the statistics that running averages are of.
    std::span<tensor> gradients_of(std::size_t stage, std::vector<tensor>& sums) const {
        return std::span{sums}.first(stages_[stage].parameters().size());
    }

    // A norm is that of all stages, or with delays of each; squares are added from the last parameter to the first.
    void clip(std::vector<std::vector<tensor>>& sums) {
        const gradient_clip bound = make_clip(app_.getTrain().getClip()).value();
        double squares = 0;
        for (std::size_t s = stages_.size(); s-- > 0;) {
            squares = delayed_ ? 0 : squares;
            for (std::size_t p = stages_[s].parameters().size(); p-- > 0;) {
                double of_one = 0;
                TROUPE_CHECK(context_.ops.run(sum_of_squares{sums[s][p], of_one}).ok(), "it fits");
                squares += of_one;
            }
            if (delayed_)
                TROUPE_CHECK(
                    clip_gradients(context_, bound, gradients_of(s, sums[s]), squares).ok(),
                    "it fits");
        }
        for (std::size_t s = 0; !delayed_ && s < stages_.size(); ++s)
            TROUPE_CHECK(clip_gradients(context_, bound, gradients_of(s, sums[s]), squares).ok(),
                         "it fits");
    }

    std::vector<std::vector<tensor>> gradients(const batch& samples, const epoch_shape& shape,
                                               std::uint64_t b, std::uint64_t of_run,
                                               const std::vector<weights_ptr>& used) {
        std::vector<std::vector<tensor>> sums(stages_.size());
        double loss = 0;
        for (std::uint32_t m = shape.microbatches_of(b); m-- > 0;) {
            const sample_range rows = shape.rows_of(b, m);
            const batch_part part{.training = true,
                                  .seed = app_.getTrain().getSeed(),
                                  .minibatch = of_run,
                                  .first_row = rows.first,
                                  .share = static_cast<float>(rows.count) /
                                           static_cast<float>(shape.samples_of(b))};
            std::vector<tensor> values{samples.input.rows(rows.first, rows.count)};
            std::vector<saved_activations> saved;
            for (std::size_t s = 0; s < stages_.size(); ++s) {
                auto forward =
                    stages_[s].forward(context_, *used[s], part, std::move(values)).value();
                saved.push_back(std::move(forward.saved));
                values = std::move(forward.outputs);
                if (s + 1 < stages_.size())
                    round(crossing_, values);
            }
            const float scale = 1.0f / static_cast<float>(count_labels(
                                           samples.labels, ignored_by(app_.getModel().getLoss())));
            auto judged =
                stages_.back()
                    .loss(context_, values[0], samples.labels.rows(rows.first, rows.count), scale)
                    .value();
            loss += judged.loss_sum;
            std::vector<tensor> crossing{std::move(judged.gradient)};
            for (std::size_t s = stages_.size(); s-- > 0;) {
                auto backward = stages_[s]
                                    .backward(context_, *used[s], part, std::move(saved[s]),
                                              std::move(crossing))
                                    .value();
                crossing = std::move(backward.input_gradients);
                round(crossing_, crossing);
                if (sums[s].empty())
                    sums[s] = std::move(backward.weight_gradients);
                else
                    (void)accumulate(context_, sums[s], backward.weight_gradients).ok();
            }
        }
        result_.minibatch_losses.push_back(loss);
        return sums;
    }

    compute_context& context_;
    proto::App::Reader app_;
    const dataset& data_;
    bool delayed_;
    std::set<std::uint64_t> drained_;
    number_form_ptr crossing_, pulled_; // null: as they are
    replica_place share_;
    std::vector<std::uint32_t> replicas_; // by stage, where some have several
    std::vector<std::uint32_t> first_forwards_;
    std::map<std::size_t, std::vector<tensor>> round_sums_; // by stage
    std::uint64_t minibatches_done_ = 0;
    std::uint32_t microbatches_;
    std::vector<stage_program> stages_;
    sequential_result result_;
};

} // namespace troupe::test
