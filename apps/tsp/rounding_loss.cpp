#include "apps/tsp/rounding_loss.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "apps/tsp/place_tree.hpp"

namespace troupe::tsp {

double rounding_loss(const instance& of) {
    constexpr std::size_t sampled = 10000;
    if (of.kind() == edge_weights::matrix)
        return 0;
    std::vector<place> places;
    places.reserve(of.cities());
    for (std::size_t c = 0; c < of.cities(); ++c)
        places.push_back(of.place_of(static_cast<city>(c)));
    place_tree tree{std::move(places)};
    const std::size_t step = (of.cities() + sampled - 1) / sampled;
    double lost = 0;
    std::size_t looked_at = 0;
    for (std::size_t c = 0; c < of.cities(); c += step, ++looked_at) {
        const auto from = static_cast<city>(c);
        const auto to = static_cast<city>(tree.nearest(c, 1).front());
        const double exact = of.exact_length(from, to);
        if (exact > 0) // there may be two cities in one place
            lost +=
                std::min(1.0, std::abs(static_cast<double>(of.length(from, to)) - exact) / exact);
    }
    return lost / static_cast<double>(looked_at);
}

} // namespace troupe::tsp
