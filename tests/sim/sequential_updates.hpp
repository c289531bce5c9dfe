// Operations that make every update of weights a second time as a sequential program would, with what its optimizer keeps
// of each parameter and the number of updates that it has made of it: what those of replicas are compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/ops/ops.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/base/check.hpp"

namespace troupe::test {

// What it knows of a parameter.
struct sequential_parameter {
    std::uint64_t updates = 0;
    std::vector<std::vector<float>> state; // none before the first update: then zeros
};
// By shape: of a model in which no two parameters have the same.
using sequential_parameters = std::map<std::string, sequential_parameter>;

class sequential_updates final : public operations {
  public:
    // Goes on from `first`.
    sequential_updates(operations& all, sequential_parameters first)
        : all_{all}, parameters_{std::move(first)} {}

    std::string_view name() const noexcept override { return "sequential"; }
    std::size_t channel_block(std::size_t channels) const noexcept override {
        return all_.channel_block(channels);
    }

    const sequential_parameters& parameters() const noexcept { return parameters_; }
    std::uint64_t updates() const noexcept { return updates_; } // of all parameters, of this object
    // How far a number of an updated weight was from its own, at most.
    double farthest() const noexcept { return farthest_; }

  private:
#define TROUPE_PASS_ON(type)                                                                       \
    result<void> compute(const type& op) override {                                                \
        return note(op);                                                                           \
    }
    TROUPE_OPERATIONS(TROUPE_PASS_ON)
#undef TROUPE_PASS_ON

    template <class Operation>
    result<void> note(const Operation& op) {
        return all_.run(op);
    }
    template <class Settings>
    result<void> note(const weight_update<Settings>& op) {
        const update_operands& o = op.operands;
        const tensor weight = made_of(o.weight.shape(), values_of(o.weight)); // may be written over
        auto done = all_.run(op);
        sequential_parameter& own = parameters_[to_string(weight.shape())];
        const std::vector<float> zeros(weight.elements());
        own.state.resize(state_of(op.settings).size(), zeros);
        ++own.updates;
        ++updates_;
        tensor expected = made_of(weight.shape(), zeros);
        std::vector<tensor> state;
        for (const auto& values : own.state)
            state.push_back(made_of(weight.shape(), values));
        const auto again =
            reference_->run(weight_update<Settings>{op.settings,
                                                    {.learning_rate = o.learning_rate,
                                                     .step = own.updates,
                                                     .gradient = o.gradient,
                                                     .weight = weight,
                                                     .state = state,
                                                     .new_weight = expected,
                                                     .new_state = state}});
        TROUPE_CHECK(again.ok(), "what one makes the other makes, too");
        for (std::size_t k = 0; k < state.size(); ++k)
            own.state[k] = values_of(state[k]);
        const auto made = o.new_weight.values<float>(), due = expected.values<float>();
        for (std::size_t i = 0; i < due.size(); ++i)
            farthest_ = std::max(farthest_, std::abs(double{made[i]} - double{due[i]}));
        return done;
    }

    static std::vector<float> values_of(const tensor& t) {
        return {t.values<float>().begin(), t.values<float>().end()};
    }
    tensor made_of(const tensor_shape& shape, const std::vector<float>& values) {
        tensor made = tensor::allocate(memory_, data_type::float32, shape).value();
        std::ranges::copy(values, made.mutable_values<float>().begin());
        return made;
    }

    operations& all_;
    memory_pool memory_{1ull << 24};
    std::unique_ptr<operations> reference_ = make_reference_operations();
    sequential_parameters parameters_;
    std::uint64_t updates_ = 0;
    double farthest_ = 0;
};

} // namespace troupe::test
