#include "tests/support/sequential.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "actors/data/samples/batches.hpp"
#include "actors/data/samples/dataset.hpp"
#include "actors/training/plan/training_app.hpp"
#include "kernels/codec/number_form.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/ops/ops.hpp"
#include "kernels/optim/clip.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"
#include "kernels/optim/run_shape.hpp"

namespace troupe::test {

namespace {

class sequential_trainer {
  public:
    sequential_trainer(compute_context& context, proto::App::Reader app, const dataset& data,
                       const sequential_settings& settings)
        : context_{context}, app_{app}, data_{data}, settings_{settings} {
        if (app.getTopology().isPipeline())
            crossing_ = make_number_form(app.getTopology().getPipeline().getActivations()).value();
        std::size_t first = 0;
        for (const std::size_t count : settings.layers) {
            stages_.push_back(stage_program::create(app.getModel(), {first, count}).value());
            first += count;
        }
    }

    std::vector<weights_ptr> run() {
        const auto train = app_.getTrain();
        const optimizer_ptr rule = make_optimizer(train.getOptimizer());
        const auto rates_of = [&](std::uint32_t in_turn) {
            return make_learning_rates(train, data_.size(), in_turn);
        };
        rates_.assign(stages_.size(), rates_of(settings_.share.replicas));
        for (std::size_t s = 0; s < settings_.replicas.size(); ++s)
            rates_[s] = rates_of(settings_.replicas[s]);
        for (const stage_program& stage : stages_)
            weights_.push_back(
                stage.initialise(context_, train.getSeed(), rule->state().size()).value());
        for (std::uint32_t epoch = 0; epoch < train.getEpochs(); ++epoch)
            run_epoch(epoch, *rule);
        return std::move(weights_);
    }

  private:
    epoch_shape shape_of(std::uint32_t epoch) const {
        return epoch_shape::of(data_.size(), batch_sizes::of(app_.getTrain()).at(epoch),
                               settings_.microbatches);
    }

    void run_epoch(std::uint32_t epoch, const optimizer& rule) {
        const auto train = app_.getTrain();
        auto order = train.getShuffle() ? epoch_order(train.getSeed(), epoch, data_.size())
                                        : file_order(data_.size());
        const epoch_shape shape = shape_of(epoch);
        const batch_plan plan{std::move(order), shape.samples_per_minibatch};
        const std::size_t stages = stages_.size();
        // versions[s][v]: stage s after v updates of this epoch.
        std::vector<std::vector<weights_ptr>> versions(stages);
        for (std::size_t s = 0; s < stages; ++s)
            versions[s].push_back(weights_[s]);
        std::uint64_t filled = 0; // updates before the pipeline was filled last
        for (std::uint64_t b = 0; b < shape.minibatches; ++b) {
            const std::uint64_t at = minibatches_done_++;
            if (b % settings_.share.replicas != settings_.share.replica)
                continue;
            const std::uint64_t updates =
                versions[0].size() - 1; // of this epoch, where all make as many
            if (at == settings_.drained_after)
                filled = updates;
            const auto version_of = [&](std::size_t s, std::uint32_t behind) {
                const std::uint64_t made = versions[s].size() - 1; // updates of this epoch
                auto rounded = std::make_shared<weights>(
                    *versions[s][made < filled + behind ? filled : made - behind]);
                round(settings_.pulls, rounded->parameters);
                return weights_ptr{std::move(rounded)};
            };
            used_weights used{.there = {}, .back = {}};
            for (std::uint32_t m = 0; m < shape.microbatches_of(b); ++m) {
                auto& there = used.there.emplace_back();
                auto& back = used.back.emplace_back();
                for (std::size_t s = 0; s < stages; ++s) {
                    there.push_back(version_of(s, behind(s, m, b, versions[s].size() - 1)));
                    back.push_back(settings_.stashes ? there.back() : version_of(s, 0));
                }
            }
            const batch samples =
                fill_batch(data_, plan.indices(b), epoch, context_.memory).value();
            auto sums = gradients(samples, shape, b, at, used);
            clip(sums);
            for (std::size_t s = 0; s < settings_.replicas.size(); ++s)
                add_to_round(s, std::move(sums[s]), at, b, shape, rule, versions[s]);
            for (std::size_t s = 0; settings_.replicas.empty() && s < stages; ++s)
                versions[s].push_back(next_version(context_, stages_[s], rule, versions[s].back(),
                                                   sums[s], rates_[s](at))
                                          .value());
        }
        for (std::size_t s = 0; s < stages; ++s)
            weights_[s] = versions[s].back();
    }

    // By microbatch and stage: the weights of forward and of backward passes.
    struct used_weights {
        std::vector<std::vector<weights_ptr>> there, back;
    };

    // Updates behind the latest of a stage, of which there were so many in the epoch.
    std::uint32_t behind(std::size_t stage, std::uint32_t microbatch, std::uint64_t minibatch,
                         std::uint64_t updates) const {
        if (!settings_.behind.empty())
            return settings_.behind[stage][microbatch];
        if (settings_.replicas.empty())
            return settings_.delayed ? static_cast<std::uint32_t>(stages_.size() - 1 - stage) : 0;
        const std::uint64_t round = minibatch / settings_.replicas[stage];
        const std::uint64_t late = std::min<std::uint64_t>(round, settings_.first_forwards[stage]);
        return static_cast<std::uint32_t>(updates - (round - late));
    }

    void add_to_round(std::size_t stage, std::vector<tensor> gradients, std::uint64_t at,
                      std::uint64_t b, const epoch_shape& shape, const optimizer& rule,
                      std::vector<weights_ptr>& versions) {
        const std::uint64_t in_round = b % settings_.replicas[stage];
        auto& sum = round_sums_[stage];
        if (in_round == 0)
            sum = std::move(gradients);
        else
            TROUPE_CHECK(accumulate(context_, sum, gradients).ok(), "it fits");
        if (in_round + 1 < settings_.replicas[stage] && b + 1 < shape.minibatches)
            return;
        for (tensor& t : sum)
            for (float& value : t.mutable_values<float>())
                value *= 1.0f / static_cast<float>(settings_.replicas[stage]);
        const bool per_sample =
            app_.getTopology().getPipeline().getRate() == proto::StageRate::PER_SAMPLE;
        const float rate =
            rates_[stage](at) * (per_sample ? static_cast<float>(settings_.replicas[stage]) : 1);
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
            squares = settings_.delayed ? 0 : squares;
            for (std::size_t p = stages_[s].parameters().size(); p-- > 0;) {
                double of_one = 0;
                TROUPE_CHECK(context_.ops.run(sum_of_squares{sums[s][p], of_one}).ok(), "it fits");
                squares += of_one;
            }
            if (settings_.delayed)
                TROUPE_CHECK(
                    clip_gradients(context_, bound, gradients_of(s, sums[s]), squares).ok(),
                    "it fits");
        }
        for (std::size_t s = 0; !settings_.delayed && s < stages_.size(); ++s)
            TROUPE_CHECK(clip_gradients(context_, bound, gradients_of(s, sums[s]), squares).ok(),
                         "it fits");
    }

    std::vector<std::vector<tensor>> gradients(const batch& samples, const epoch_shape& shape,
                                               std::uint64_t b, std::uint64_t of_run,
                                               const used_weights& used) {
        std::vector<std::vector<std::vector<tensor>>> made(stages_.size()); // by stage, microbatch
        for (auto& of_stage : made)
            of_stage.resize(shape.microbatches_of(b));
        for (std::uint32_t m = 0; m < shape.microbatches_of(b); ++m) {
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
                auto forward = stages_[s]
                                   .forward(context_, *used.there[m][s], part, std::move(values))
                                   .value();
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
            std::vector<tensor> crossing{std::move(judged.gradient)};
            for (std::size_t s = stages_.size(); s-- > 0;) {
                auto backward = stages_[s]
                                    .backward(context_, *used.back[m][s], part, std::move(saved[s]),
                                              std::move(crossing))
                                    .value();
                crossing = std::move(backward.input_gradients);
                round(crossing_, crossing);
                made[s][m] = std::move(backward.weight_gradients);
            }
        }
        std::vector<std::vector<tensor>> sums;
        for (std::size_t s = 0; s < stages_.size(); ++s)
            sums.push_back(sum_of(std::move(made[s]), s));
        return sums;
    }

    std::vector<tensor> sum_of(std::vector<std::vector<tensor>> made, std::size_t stage) {
        std::vector<std::uint32_t> order;
        if (!settings_.summed.empty())
            order = settings_.summed[stage];
        else
            for (auto m = static_cast<std::uint32_t>(made.size()); m-- > 0;)
                order.push_back(m);
        std::vector<tensor> sum;
        for (const std::uint32_t m : order) {
            if (m >= made.size())
                continue;
            if (sum.empty())
                sum = std::move(made[m]);
            else
                TROUPE_CHECK(accumulate(context_, sum, made[m]).ok(), "it fits");
        }
        return sum;
    }

    compute_context& context_;
    const proto::App::Reader app_;
    const dataset& data_;
    const sequential_settings& settings_;
    number_form_ptr crossing_;                              // null: as they are
    std::map<std::size_t, std::vector<tensor>> round_sums_; // by stage
    std::uint64_t minibatches_done_ = 0;
    std::vector<stage_program> stages_;
    std::vector<weights_ptr> weights_;
    std::vector<learning_rates> rates_; // by stage
};

} // namespace

std::vector<weights_ptr> train_sequentially(compute_context& context, const training_app& app,
                                            const dataset& data,
                                            const sequential_settings& settings) {
    return sequential_trainer{context, app.app(), data, settings}.run();
}

} // namespace troupe::test
