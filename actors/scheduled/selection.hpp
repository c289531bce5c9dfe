// Which variables a phase updates: the schedules of a program as pure values. The same calls give the same choices.
//
//     auto order = dynamic_selection(variables, settings.base_width);
//     auto chosen = order->choose(eligible, settings.set, random);
//     ...
//     order->note_change(j, std::abs(delta));
//
// Threads: values. Ownership: none beyond themselves. Errors: errc::protocol for a state that is not one of theirs.
//
// Source: STRADS, "Primitives for dynamic big model parallelism", Lee et al., NIPS 2014: a variable is drawn in proportion
// to the size of its last change and a base width, which here is a share of the mean over those that may be chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/random.hpp"

namespace troupe::scheduled {

class selection {
  public:
    virtual ~selection() = default;

    // At most `count` different ones of `eligible`, which rises; in the order in which they are updated.
    virtual std::vector<std::int64_t> choose(std::span<const std::int64_t> eligible,
                                             std::size_t count, random_stream& random) = 0;

    // The size of a variable's last change, or of the one that is expected of it. Finite and not negative.
    virtual void note_change(std::int64_t variable, double size) = 0;

    // The numbers in which it differs from a new one.
    virtual std::vector<double> state() const = 0;
    virtual result<void> restore(std::span<const double> state) = 0;
};

// Draws points on a line where each eligible variable has a piece as long as its last change and base_width times the mean
// of these; variables that are hit several times count once. Draws at most four points for each variable that is asked for,
// so that fewer may come. The ones with the largest changes come first. Without changes all are drawn alike.
std::unique_ptr<selection> dynamic_selection(number_range variables, double base_width);

// One set after the other, in the order of their numbers, and from the first again.
std::unique_ptr<selection> cyclic_selection();

} // namespace troupe::scheduled
