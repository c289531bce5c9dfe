// Elastic averaging: replicas and a centre are drawn towards each other. Pure.
//
// For replica x and centre c, in this order: e = rate * (x - c); c becomes c + e; the replica makes its next update, by a
// gradient at x; then x becomes x - e. So x + c changes by that update alone. Synchronous: all replicas at once, each e
// with the same c; else one replica at a time, in order of arrival. EASGD is without momentum, EAMSGD with it. Source:
// Zhang, Choromanska and LeCun 2015; the order is that of their code.
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

// The rate that an app file asks for; 0 stands for 0.9 / replicas.
float elastic_rate(float asked, std::uint32_t replicas) noexcept;

// The largest rate at which replicas converge on a loss of curvature h, with `step` = learning_rate * h between 0 and 2,
// where n = `at_once` replicas move the centre at once: (4 - 2 s) / (2 + n (2 - s)); for n = 1 this is the paper's
// (4 - 2 s) / (4 - s). Above it replicas and centre diverge.
double elastic_rate_max(std::uint32_t at_once, double step = 0) noexcept;

// The same the other way round: the step up to which they converge at this rate, where they meet after every update; a
// longer period allows more. Nesterov's momentum d makes it (1 + d) / (1 + 2 d) times that.
double elastic_step_max(std::uint32_t at_once, double rate, double nesterov = 0) noexcept;

// Replicas that have arrived at the centre, where all move together. Lost ranks are not waited for.
class elastic_round {
  public:
    explicit elastic_round(std::size_t ranks) : live_(ranks, true), came_(ranks) {}

    bool arrive(std::uint32_t rank); // false: it has arrived before, or is lost
    void lose(std::uint32_t rank);
    void gain(std::uint32_t rank) { live_[rank] = true; } // replaces a lost one
    bool complete() const noexcept; // all live ranks have arrived, at least one
    bool has_come(std::uint32_t rank) const { return came_[rank]; }
    std::optional<std::uint32_t> missing() const noexcept; // first live rank that has not arrived
    // Returns the ranks that have arrived, in ascending order, and begins the next round.
    std::vector<std::uint32_t> take();

  private:
    std::vector<bool> live_;
    std::vector<bool> came_;
};

} // namespace troupe
