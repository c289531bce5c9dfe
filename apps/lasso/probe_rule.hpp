// When the next probe is due: when what the phases since the last one have gained is little beside the gap that they should
// come below, or when they have been many. A pure value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace troupe::lasso {

// The outcome of a phase.
struct phase_outcome {
    std::size_t updated = 0; // variables, whether they have changed or not
    double decrease = 0;     // of the objective
    double gap = 0;          // of all variables that may change, or infinite
};

// The gap that phases should come below until the next probe, after one that found `gap`, if the run ends at `last`: a share
// of it, as what the probe has brought into the working set may not be all yet; close to the end that is likely, and the gap
// of the end is aimed at.
double next_gap(double gap, double last) noexcept;
// The gap that is aimed at where phases come to the end.
double end_gap(double last) noexcept;

class probe_rule {
  public:
    // `idle`: so many phases in a row that update nothing show that there is nothing to update.
    explicit probe_rule(std::size_t idle) : idle_{idle} {}

    // After a probe; phases should come below `gap`. `first`: the first phase that is chosen since; `round`: updates of
    // variables after which each has been updated about once.
    void begin(double gap, std::uint64_t first, std::size_t round);
    void fold(std::uint64_t number, const phase_outcome& outcome);
    bool is_due() const noexcept;

    // The bound below which the gap of all variables that may change should come.
    double settled_gap() const noexcept { return gap_; }

    std::vector<double> save() const;
    bool load(std::span<const double> saved); // false if it is not what was saved

  private:
    struct gain {
        std::size_t updated = 0;
        double decrease = 0;
    };

    std::size_t updated_in_round() const noexcept;

    std::size_t idle_;
    double gap_ = 0;
    std::uint64_t first_ = 0;
    std::size_t round_ = 0;
    std::size_t updated_ = 0; // since then
    std::size_t idle_phases_ = 0;
    bool is_settled_ = false;
    std::deque<gain> last_round_;
};

} // namespace troupe::lasso
