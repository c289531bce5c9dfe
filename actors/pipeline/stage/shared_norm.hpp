// The norm of a minibatch's gradients over all stages of a pipeline: partial sums of squares go from the last stage to the
// first, their total back to the last. A value: the state of the next update's norm at this stage.
//
//   nothing -> own, later (in any order) -> summed -> all
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernels/optim/clip.hpp"

namespace troupe {

class shared_norm {
  public:
    // Sums of squares: of each parameter's gradient at this stage, over all later stages, over all stages.
    void set_own(std::vector<double> squares) { own_ = std::move(squares); }
    void set_later(double squares) { later_ = squares; }
    void set_all(double squares) { all_ = squares; }
    void begin_next() { *this = {}; } // begins the next update

    bool has_own() const noexcept { return own_.has_value(); }
    bool has_later() const noexcept { return later_.has_value(); }
    const std::optional<double>& all() const noexcept { return all_; }
    // The sum over this stage and all later ones, once both are known.
    std::optional<double> sum() const {
        return own_ && later_ ? std::optional{add_squares(*later_, *own_)} : std::nullopt;
    }

  private:
    std::optional<std::vector<double>> own_;
    std::optional<double> later_, all_;
};

} // namespace troupe
