// One replica of a whole model as a loop can step it: what replicas that update on their own are compared with, bit by bit.
#pragma once

#include <algorithm>
#include <vector>

#include "actors/data/batches.hpp"
#include "actors/data/dataset.hpp"
#include "actors/pipeline/run_shape.hpp"
#include "actors/training/plan/training_app.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"

namespace troupe::test {

// What all replicas of an app share. Minibatches are whole: microbatches are for pipelines.
struct serial_app {
    explicit serial_app(const std::string& text) : app{parse_training(text, "app.yaml").value()} {
        const auto train = app.app().getTrain();
        data = load_data(app.app().getData(), input_form(app.app().getModel()).value().shape,
                         train.getSeed())
                   .value();
        shape = run_shape::of(train, data.train.size());
        rates = make_learning_rates(train, shape.minibatches());
    }

    memory_pool memory{1ull << 28};
    const std::unique_ptr<operations> ops = make_cpu_operations(memory);
    compute_context context{*ops, memory};
    training_app app;
    data_sets data;
    run_shape shape;
    learning_rates rates;
};

class serial_replica {
  public:
    explicit serial_replica(serial_app& of)
        : of_{of}, program_{stage_program::whole(of.app.app().getModel()).value()},
          rule_{make_optimizer(of.app.app().getTrain().getOptimizer())},
          latest_{
              program_
                  .initialise(of.context, of.app.app().getTrain().getSeed(), rule_->state().size())
                  .value()} {}

    const stage_program& program() const noexcept { return program_; }

    // An update by this minibatch of this epoch.
    void step(std::uint32_t epoch, std::uint64_t minibatch) {
        const auto gradients = backward(epoch, minibatch);
        const std::uint64_t of_run = of_.shape.minibatches_before(epoch) + minibatch;
        latest_ = next_version(of_.context, program_, *rule_, std::move(latest_), gradients,
                               of_.rates({epoch, of_run}))
                      .value();
    }

    // The gradient of its parameters by this minibatch, all in a row, without an update.
    std::vector<float> gradient(std::uint32_t epoch, std::uint64_t minibatch) {
        const auto gradients = backward(epoch, minibatch);
        return join(std::span{gradients}.first(program_.parameters().size()));
    }

    // Parameters and averages, all in a row.
    std::vector<float> values() const {
        std::vector<float> all = join(latest_->parameters);
        const std::vector<float> averages = join(latest_->averages);
        all.insert(all.end(), averages.begin(), averages.end());
        return all;
    }
    void set_values(const std::vector<float>& all) {
        auto next = std::make_shared<weights>(*latest_);
        auto from = all.begin();
        for (auto* part : {&next->parameters, &next->averages})
            for (tensor& t : *part) {
                t = tensor::allocate(of_.context.memory, data_type::float32, t.shape()).value();
                const auto end = from + static_cast<std::ptrdiff_t>(t.elements());
                std::copy(from, end, t.mutable_values<float>().begin());
                from = end;
            }
        latest_ = std::move(next);
    }

  private:
    static std::vector<float> join(std::span<const tensor> tensors) {
        std::vector<float> all;
        for (const tensor& t : tensors)
            all.insert(all.end(), t.values<float>().begin(), t.values<float>().end());
        return all;
    }

    std::vector<tensor> backward(std::uint32_t epoch, std::uint64_t minibatch) {
        const auto train = of_.app.app().getTrain();
        const std::uint32_t size = of_.shape.batch.at(epoch);
        const batch_plan plan{epoch_order(train.getSeed(), epoch, of_.data.train.size()), size};
        const batch samples =
            fill_batch(of_.data.train, plan.indices(minibatch), epoch, of_.context.memory).value();
        const std::uint64_t of_run = of_.shape.minibatches_before(epoch) + minibatch;
        const batch_part part{.training = true, .seed = train.getSeed(), .minibatch = of_run};
        auto forward = program_.forward(of_.context, *latest_, part, {samples.input}).value();
        const float scale = 1.0f / static_cast<float>(count_labels(samples.labels, ignored_label));
        auto judged = program_.loss(of_.context, forward.outputs[0], samples.labels, scale).value();
        auto backward = program_
                            .backward(of_.context, *latest_, part, std::move(forward.saved),
                                      {std::move(judged.gradient)})
                            .value();
        return std::move(backward.weight_gradients);
    }

    serial_app& of_;
    stage_program program_;
    optimizer_ptr rule_;
    weights_ptr latest_;
};

} // namespace troupe::test
