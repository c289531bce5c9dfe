// Immutable versions of a stage's weights, and their layout where they are stored or sent.
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

// One immutable version of a stage's parameters, with the optimizer's state and the averages of that version.
struct weights {
    weight_version version;
    std::vector<tensor> parameters; // in the order of stage_program::parameters()
    std::vector<tensor> state;      // the optimizer's: equally many per parameter, by parameter
    // By parameter: updates that the optimizer has made of it since its state was zeros. This is not the version, which
    // counts what the schedule counts, also if an update takes several minibatches or is left out. Empty if the state is
    // left out.
    std::vector<std::uint64_t> updates;
    std::vector<tensor> averages; // in the order of stage_program::averages()

    // All tensors in the order of the fields, in which they are sent and saved.
    std::vector<tensor> tensors() const;
};
using weights_ptr = std::shared_ptr<const weights>;

// The same version without the optimizer's state, which no pass reads: its holder leaves the state to the next update, which
// writes it in place.
weights_ptr for_passes(const weights& w);

// The layout of a stage's weights, in the order of weights::tensors().
class weights_layout {
  public:
    // `state`: the kinds of tensors that the optimizer keeps for each parameter ("exp_avg").
    weights_layout(std::span<const parameter_info> parameters,
                   std::span<const average_info> averages, std::span<const std::string_view> state);

    struct entry {
        std::string name; // "layers.0.weight", "exp_avg.layers.0.weight", "layers.1.running_mean"
        tensor_shape shape;
        bool is_state = false; // an optimizer may begin without it, with zeros
    };
    const std::vector<entry>& entries() const noexcept { return entries_; }
    std::size_t parameters() const noexcept { return parameters_; } // the first entries
    std::size_t parameter_of(std::size_t state) const noexcept; // `state`: an entry that is state
    std::size_t bytes() const noexcept;                         // of all tensors
    std::size_t state_bytes() const noexcept;

    // Checks that these tensors, and so many counts of updates, are weights of this layout. errc::data.
    result<void> check(std::span<const tensor> tensors, std::size_t counts) const;

    // Makes weights of tensors and counts that check() has passed.
    weights_ptr assemble(weight_version version, std::span<const tensor> tensors,
                         std::vector<std::uint64_t> updates) const;

  private:
    std::vector<entry> entries_;
    std::size_t parameters_;
    std::size_t averages_;
};

} // namespace troupe
