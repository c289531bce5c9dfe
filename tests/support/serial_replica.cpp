#include "tests/support/serial_replica.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "actors/data/samples/batches.hpp"
#include "actors/data/samples/dataset.hpp"
#include "actors/training/plan/training_app.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "kernels/optim/learning_rate.hpp"
#include "kernels/optim/optimizer.hpp"
#include "kernels/optim/run_shape.hpp"

namespace troupe::test {

namespace {

std::vector<float> join(std::span<const tensor> tensors) {
    std::vector<float> all;
    for (const tensor& t : tensors)
        all.insert(all.end(), t.values<float>().begin(), t.values<float>().end());
    return all;
}

} // namespace

struct serial_app::parts {
    explicit parts(const std::string& text)
        : app{parse_training(text, "app.yaml").value()},
          program{stage_program::whole(app.app().getModel()).value()},
          rule{make_optimizer(app.app().getTrain().getOptimizer())} {
        const auto train = app.app().getTrain();
        data = load_data(app.app().getData(), input_form(app.app().getModel()).value().shape,
                         train.getSeed())
                   .value();
        shape = run_shape::of(train, data.train.size());
        rates = make_learning_rates(train, data.train.size());
    }

    memory_pool memory{1ull << 28};
    const std::unique_ptr<operations> ops = make_cpu_operations(memory);
    compute_context context{*ops, memory};
    const training_app app;
    const stage_program program;
    const optimizer_ptr rule;
    data_sets data;
    run_shape shape;
    learning_rates rates;
};

serial_app::serial_app(const std::string& text) : parts_{std::make_unique<parts>(text)} {}

serial_app::~serial_app() = default;

const std::vector<parameter_info>& serial_app::parameters() const noexcept {
    return parts_->program.parameters();
}

std::uint64_t serial_app::minibatches_of(std::uint32_t epoch) const noexcept {
    return parts_->shape.minibatches_of(epoch);
}

serial_replica::serial_replica(serial_app& of)
    : of_{*of.parts_}, latest_{of_.program
                                   .initialise(of_.context, of_.app.app().getTrain().getSeed(),
                                               of_.rule->state().size())
                                   .value()} {}

void serial_replica::step(std::uint32_t epoch, std::uint64_t minibatch) {
    const auto gradients = backward(epoch, minibatch);
    const std::uint64_t of_run = of_.shape.minibatches_before(epoch) + minibatch;
    latest_ = next_version(of_.context, of_.program, *of_.rule, std::move(latest_), gradients,
                           of_.rates(of_run))
                  .value();
}

std::vector<float> serial_replica::gradient(std::uint32_t epoch, std::uint64_t minibatch) {
    const auto gradients = backward(epoch, minibatch);
    return join(std::span{gradients}.first(of_.program.parameters().size()));
}

std::vector<float> serial_replica::values() const {
    std::vector<float> all = join(latest_->parameters);
    const std::vector<float> averages = join(latest_->averages);
    all.insert(all.end(), averages.begin(), averages.end());
    return all;
}

void serial_replica::set_values(const std::vector<float>& all) {
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

std::vector<tensor> serial_replica::backward(std::uint32_t epoch, std::uint64_t minibatch) {
    const auto train = of_.app.app().getTrain();
    const std::uint32_t size = of_.shape.batch.at(epoch);
    const batch_plan plan{epoch_order(train.getSeed(), epoch, of_.data.train.size()), size};
    const batch samples =
        fill_batch(of_.data.train, plan.indices(minibatch), epoch, of_.context.memory).value();
    const std::uint64_t of_run = of_.shape.minibatches_before(epoch) + minibatch;
    const batch_part part{.training = true, .seed = train.getSeed(), .minibatch = of_run};
    auto forward = of_.program.forward(of_.context, *latest_, part, {samples.input}).value();
    const float scale = 1.0f / static_cast<float>(count_labels(samples.labels, ignored_label));
    auto judged = of_.program.loss(of_.context, forward.outputs[0], samples.labels, scale).value();
    auto backward = of_.program
                        .backward(of_.context, *latest_, part, std::move(forward.saved),
                                  {std::move(judged.gradient)})
                        .value();
    return std::move(backward.weight_gradients);
}

} // namespace troupe::test
