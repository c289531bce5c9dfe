// A scheduler's own phases that have been chosen and not pulled, in their order. A pure value.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace troupe::lasso {

struct own_phase {
    std::uint64_t number = 0;
    bool is_probe = false;
    std::vector<std::int64_t> chosen;
    std::vector<double> gradients; // of these, if they are known; then workers are not asked
    std::uint64_t round = 0;       // in which it was chosen
    bool is_return = false;        // the variables go where newton_steps says
};

class phases_under_way {
  public:
    void add(own_phase p) { phases_.push_back(std::move(p)); }
    // The first one, which is under way no longer; none if it has another number.
    std::optional<own_phase> take(std::uint64_t number);

    bool has_probe() const noexcept;
    std::vector<std::int64_t> variables() const; // of all of them, in this order
    std::uint64_t first_or(std::uint64_t number) const noexcept {
        return phases_.empty() ? number : phases_.front().number;
    }

    struct contents {
        std::vector<std::int64_t> numbers; // six for each phase
        std::vector<std::int64_t> chosen;
        std::vector<double> gradients;
    };
    contents save() const;
    // False if it is not what was saved, or `is_possible` says so of a phase.
    bool load(const contents& saved, const std::function<bool(const own_phase&)>& is_possible);

  private:
    std::deque<own_phase> phases_;
};

} // namespace troupe::lasso
