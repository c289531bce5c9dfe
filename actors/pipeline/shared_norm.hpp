// The norm of a minibatch's gradients over all stages of a pipeline: partial sums of squares go from the last stage to the
// first, their total back to the last. A value: what this stage knows of the next update's norm.
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
    // Of each of this stage's parameters' gradients.
    void set_own(std::vector<double> squares) { own_ = std::move(squares); }
    void set_later(double squares) { later_ = squares; } // of all stages after this one
    void set_all(double squares) { all_ = squares; }
    void begin_next() { *this = {}; } // update

    bool has_own() const noexcept { return own_.has_value(); }
    bool has_later() const noexcept { return later_.has_value(); }
    const std::optional<double>& all() const noexcept { return all_; }
    // Of this stage and all after it, once both are known.
    std::optional<double> sum() const {
        return own_ && later_ ? std::optional{add_squares(*later_, *own_)} : std::nullopt;
    }

  private:
    std::optional<std::vector<double>> own_;
    std::optional<double> later_, all_;
};

} // namespace troupe
