#include "apps/tsp/cities_verdict.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "apps/tsp/place_tree.hpp"

namespace troupe::tsp {

namespace {

// The first city that is not on a globe.
std::optional<std::size_t> find_off_globe(std::span<const point> cities) {
    const auto is_off = [](const point& p) { return std::abs(p.x) > 90 || std::abs(p.y) > 360; };
    const auto found = std::ranges::find_if(cities, is_off);
    return found == cities.end() ? std::nullopt
                                 : std::optional<std::size_t>{found - cities.begin()};
}

// A sentence on coordinates that seem to be decimal degrees, where there are any.
std::optional<std::string> why_decimal_degrees(std::span<const point> cities) {
    constexpr double minutes_end = 0.6 - 1e-9; // DDD.MM
    const auto is_decimal = [](double x) { return std::abs(x - std::trunc(x)) >= minutes_end; };
    std::uint64_t count = 0;
    for (const point& p : cities)
        count += (is_decimal(p.x) ? 1u : 0u) + (is_decimal(p.y) ? 1u : 0u);
    if (count == 0)
        return std::nullopt;
    return std::to_string(count) + " of " + std::to_string(2 * cities.size()) +
           " coordinates have 60 minutes or more, as decimal degrees do; GEO is DDD.MM: of decimal "
           "degrees take the fraction 0.6 times";
}

// The mean share by which the way to the nearest city is off, at most 1 for each; 0 of a matrix.
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

// Loss of the ways to the nearest cities, for a refusal and a note.
constexpr double loss_max = 0.5, loss_noted = 0.1;

std::string why_rounded(const instance& of, double lost) {
    return "lengths are rounded to whole units, by which the ways to the nearest cities are off "
           "by " +
           std::to_string(std::lround(100 * lost)) + "% on average; " +
           (of.kind() == edge_weights::geo ? "give coordinates in metres, as EUC_2D"
                                           : "scale the coordinates, as by 1000");
}

// The rounding of whole coordinates, as eil51 has them, is the format's.
bool are_whole(std::span<const point> points) {
    return std::ranges::all_of(
        points, [](const point& p) { return p.x == std::floor(p.x) && p.y == std::floor(p.y); });
}

} // namespace

cities_verdict judge(const instance& of) {
    if (of.kind() == edge_weights::geo && find_off_globe(of.points()))
        return {"city " + std::to_string(*find_off_globe(of.points()) + 1) +
                    " has a latitude beyond 90 or a longitude beyond 360; GEO is latitude, then "
                    "longitude, in degrees and minutes",
                {}};
    cities_verdict verdict;
    const double lost = rounding_loss(of);
    if (lost > loss_max)
        verdict.refusal = why_rounded(of, lost);
    else if (lost > loss_noted && !are_whole(of.points()))
        verdict.notes.push_back(why_rounded(of, lost));
    if (of.kind() == edge_weights::geo)
        if (auto decimal = why_decimal_degrees(of.points()))
            verdict.notes.push_back(std::move(*decimal));
    return verdict;
}

} // namespace troupe::tsp
