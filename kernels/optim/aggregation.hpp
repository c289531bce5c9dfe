// Aggregation of the gradients, or weights, that several replicas send: their mean, or something that bears some of them
// being nonsense.
//
//   median         of each number by itself                                  Yin et al. 2018
//   trimmed mean   of each number by itself, without the `trim` smallest     Yin et al. 2018
//                  and the `trim` largest
//   krum           of all tensors together: those of the one sender whose    Blanchard et al. 2017
//                  nearest n - liars - 2 others are nearest, by the sum of
//                  the squares of their distances
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/topology.capnp.h"

namespace troupe {

// A value.
struct aggregation {
    enum class rule : std::uint8_t { mean, median, trimmed_mean, krum };

    rule by = rule::mean;
    std::uint32_t trim = 0;
    std::uint32_t liars = 0;

    // The rule that the app asks for; none where this build does not know it.
    static std::optional<aggregation> of(proto::Aggregation::Reader description);

    // The number that it takes at least, of so many senders: with fewer, one that sends nonsense could have its way.
    std::size_t needs_of(std::size_t senders) const noexcept;
};

// Whom Krum chooses, the first where several are equal; `distances`: senders * senders squares, of which those that are no
// numbers count as infinite. At least 2 * liars + 3 senders.
std::size_t krum_choice(std::span<const double> distances, std::size_t senders, std::size_t liars);

// Takes tensors of the same shapes from every sender, of whom there are as many as the rule needs.
result<std::vector<tensor>> aggregate(compute_context& context, const aggregation& how,
                                      std::span<const std::vector<tensor>> sent);

} // namespace troupe
