// Optimizers read one immutable version of the weights and write the next.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "kernels/graph/stage_program.hpp"
#include "kernels/ops/updates.hpp"

namespace troupe {

// Adds `more` to `sum`, element by element, in the order of the elements. `sum` must be unique to the caller. Those that are
// `as_factors` of a product (sufficient_factors.hpp), if any, are put one behind the other.
result<void> accumulate(compute_context& context, std::vector<tensor>& sum,
                        std::span<const tensor> more, const std::vector<bool>& as_factors = {});

// An update rule with its settings. Its formulas stand in kernels/ops/updates.hpp.
//
// Threads: const and shared freely.
class optimizer {
  public:
    virtual ~optimizer() = default;

    // Its state beside each parameter, by PyTorch's names: "momentum_buffer", or "exp_avg" and "exp_avg_sq".
    // In the order of weights::state.
    virtual std::span<const std::string_view> state() const noexcept = 0;

    // Version current.version + 1, with one update more of each parameter: that count, not the version, is the number of
    // the step. Hand `current` over by moving: where the caller was the only holder of a buffer, the new version takes it
    // over; otherwise it is left as it is and new memory is used.
    result<std::shared_ptr<weights>> step(compute_context& context, weights_ptr current,
                                          std::span<const tensor> gradients,
                                          float learning_rate) const;

  private:
    // Updates one parameter. The new tensors have memory, perhaps that of the old ones.
    virtual result<void> update(compute_context& context,
                                const update_operands& operands) const = 0;
};
using optimizer_ptr = std::shared_ptr<const optimizer>;

// The version after `current`, as optimizer::step makes it, with the program's running averages. `gradients`: as
// backward_result::weight_gradients, summed over a minibatch.
result<weights_ptr> next_version(compute_context& context, const stage_program& program,
                                 const optimizer& rule, weights_ptr current,
                                 std::span<const tensor> gradients, float learning_rate);

// The rule that the description, whose settings are in their ranges, asks for; null for one that this build does not know.
optimizer_ptr make_optimizer(proto::Optimizer::Reader description);

// Whether the rule's steps depend on how many it has made: it corrects averages that begin with zeros.
bool counts_updates(proto::Optimizer::Reader description) noexcept;

// The rule's learning rate, before any schedule.
float base_learning_rate(proto::Optimizer::Reader description);

} // namespace troupe
