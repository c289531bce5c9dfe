// Elastic averaging: replicas and a centre are drawn towards each other. Pure.
//
// Of replica x and centre c, in this order: e = rate * (x - c); c becomes c + e; the replica makes its next update, by a
// gradient at x; then x becomes x - e. So x + c changes by that update alone. Synchronous: all replicas at once, each e of
// the same c; else each by itself, in the order in which they come. Without momentum EASGD, with it EAMSGD: Zhang,
// Choromanska and LeCun 2015; the order is that of their code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

struct elastic_rule {
    float rate = 0; // alpha
    bool synchronous = false;
};

// The rate that an app file asks for; 0: 0.9 shared among all replicas.
float elastic_rate(float asked, std::uint32_t replicas) noexcept;

// Up to which rate replicas come to rest on a loss of curvature h with steps of `learning_rate * h`, 0 to 2, where so many
// of them move the centre at once: (4 - 2 s) / (2 + n (2 - s)); of one this is their paper's (4 - 2 s) / (4 - s). With more
// they and the centre swing ever further.
double elastic_rate_max(std::uint32_t at_once, double step = 0) noexcept;

// Who has come to the centre, where all move together. Ranks that are lost are waited for no more.
class elastic_round {
  public:
    explicit elastic_round(std::size_t ranks) : live_(ranks, true), came_(ranks) {}

    bool arrive(std::uint32_t rank); // false: it has come before, or was lost
    void lose(std::uint32_t rank);
    void gain(std::uint32_t rank) { live_[rank] = true; } // another has the place of a lost one
    bool complete() const noexcept;                       // somebody has come, and all that live
    bool has_come(std::uint32_t rank) const { return came_[rank]; }
    std::optional<std::uint32_t> missing() const noexcept; // the first that lives and has not come
    // Those that have, in their order; the next round begins.
    std::vector<std::uint32_t> take();

  private:
    std::vector<bool> live_;
    std::vector<bool> came_;
};

} // namespace troupe
