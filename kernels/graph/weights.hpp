// Immutable versions of a stage's weights, and how they are laid out where they are stored or sent.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/layers/layer_values.hpp"
#include "schemas/base/ids.hpp"

namespace troupe {

// Layers first .. first + count of the model.
struct layer_range {
    std::size_t first = 0;
    std::size_t count = 0;

    friend bool operator==(const layer_range&, const layer_range&) = default;
};

// One immutable version of a stage's parameters with what else has the same version.
struct weights {
    weight_version version;
    std::vector<tensor> parameters; // in the order of stage_program::parameters()
    std::vector<tensor>
        state; // what the optimizer keeps: so many per parameter, in order of the parameters
    // By parameter: updates that the optimizer has made of it since its state was zeros. Not the version, which counts what
    // the schedule counts, also where an update is made of several minibatches or none is made. Empty where the state is
    // left out.
    std::vector<std::uint64_t> updates;
    std::vector<tensor> averages; // in the order of stage_program::averages()

    // All tensors, in this order: as they are sent and saved.
    std::vector<tensor> tensors() const;
};
using weights_ptr = std::shared_ptr<const weights>;

// The same version without what the optimizer keeps, which no pass reads: who holds it leaves that to the next update, which
// writes it in place.
weights_ptr for_passes(const weights& w);

// What a stage's weights are made of, in the order of weights::tensors().
class weights_layout {
  public:
    // `state`: the kinds of tensors that the optimizer keeps beside each parameter ("exp_avg").
    weights_layout(std::span<const parameter_info> parameters,
                   std::span<const average_info> averages, std::span<const std::string_view> state);

    struct entry {
        std::string name; // "layers.0.weight", "exp_avg.layers.0.weight", "layers.1.running_mean"
        tensor_shape shape;
        bool is_state = false; // an optimizer may begin without it, with zeros
    };
    const std::vector<entry>& entries() const noexcept { return entries_; }
    std::size_t parameters() const noexcept { return parameters_; } // the first entries
    std::size_t parameter_of(std::size_t state) const noexcept;     // of an entry that is state
    std::size_t bytes() const noexcept;                             // of all tensors
    std::size_t state_bytes() const noexcept;

    // What is wrong with these tensors, and with so many counts of updates, as weights of this layout, or nothing.
    // errc::data.
    result<void> check(std::span<const tensor> tensors, std::size_t counts) const;

    // Weights of tensors and counts that fit.
    weights_ptr assemble(weight_version version, std::span<const tensor> tensors,
                         std::vector<std::uint64_t> updates) const;

  private:
    std::vector<entry> entries_;
    std::size_t parameters_;
    std::size_t averages_;
};

} // namespace troupe
