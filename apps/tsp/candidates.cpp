#include "apps/tsp/candidates.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "apps/tsp/alpha_nearness.hpp"
#include "apps/tsp/first_tour.hpp"
#include "apps/tsp/place_tree.hpp"
#include "apps/tsp/tsp_limits.hpp"
#include "schemas/base/check.hpp"

namespace troupe::tsp {

namespace {

struct near_city {
    std::int64_t length;
    city c;

    auto operator<=>(const near_city&) const = default;
};

// The `count` nearest by a matrix.
void append_nearest(const instance& of, city c, std::size_t count, bool is_way_back,
                    std::vector<near_city>& all, std::vector<city>& to) {
    all.clear();
    for (city other = 0; static_cast<std::size_t>(other) < of.cities(); ++other)
        if (other != c)
            all.push_back({is_way_back ? of.length(other, c) : of.length(c, other), other});
    std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = 0; i < count; ++i)
        to.push_back(all[i].c);
}

std::vector<city> all_nearest(const instance& of, std::size_t count, bool is_way_back) {
    std::vector<city> made;
    made.reserve(of.cities() * count);
    std::vector<near_city> all;
    for (city c = 0; static_cast<std::size_t>(c) < of.cities(); ++c)
        append_nearest(of, c, count, is_way_back, all, made);
    return made;
}

// Nearest cities among which the alpha-nearest ones are chosen.
constexpr std::size_t more_for_alpha = 5;

std::size_t quadrant_of(const point& from, const point& to) noexcept {
    return (to.x >= from.x ? 1u : 0u) + (to.y >= from.y ? 2u : 0u);
}

// Some of each quadrant around the city, then near ones: of those that are nearby.
class quadrant_choice {
  public:
    quadrant_choice(const instance& of, std::size_t count)
        : of_{of}, count_{count}, tree_{places_of(of)} {}

    void append(city c, std::vector<city>& to) {
        found_.clear();
        for (const std::size_t other : tree_.nearest(static_cast<std::size_t>(c), 3 * count_))
            found_.push_back({of_.length(c, static_cast<city>(other)), static_cast<city>(other)});
        std::ranges::sort(found_);
        chosen_.clear();
        std::array<std::size_t, 4> in_quadrant{};
        const point here = of_.points()[static_cast<std::size_t>(c)];
        for (const near_city& n : found_) {
            const std::size_t q = quadrant_of(here, of_.points()[static_cast<std::size_t>(n.c)]);
            if (in_quadrant[q] < count_ / 4) {
                ++in_quadrant[q];
                chosen_.push_back(n);
            }
        }
        // A quadrant that is empty nearby, as at the border of a cluster, gets those that lie farther away.
        for (unsigned q = 0; of_.kind() != edge_weights::geo && q < in_quadrant.size(); ++q)
            if (in_quadrant[q] < count_ / 4)
                append_far(q, c);
        for (const near_city& n : found_)
            if (chosen_.size() < count_ && std::ranges::find(chosen_, n) == chosen_.end())
                chosen_.push_back(n);
        std::ranges::sort(chosen_);
        for (const near_city& n : chosen_)
            to.push_back(n.c);
    }

  private:
    void append_far(unsigned quadrant, city c) {
        for (const std::size_t other :
             tree_.nearest_in(quadrant, static_cast<std::size_t>(c), count_ / 4)) {
            const near_city n{of_.length(c, static_cast<city>(other)), static_cast<city>(other)};
            if (std::ranges::find(chosen_, n) == chosen_.end())
                chosen_.push_back(n);
        }
    }
    static std::vector<place> places_of(const instance& of) {
        std::vector<place> places;
        places.reserve(of.cities());
        for (std::size_t c = 0; c < of.cities(); ++c)
            places.push_back(of.place_of(static_cast<city>(c)));
        return places;
    }

    const instance& of_;
    std::size_t count_;
    place_tree tree_;
    std::vector<near_city> found_, chosen_;
};

} // namespace

candidates::candidates(const instance& of, std::uint32_t count, nearness by)
    : count_{std::min<std::size_t>(count, of.cities() - 1)} {
    TROUPE_CHECK(count >= 1 && count <= limits::candidates_max, "candidates are few");
    const std::size_t wide =
        std::min<std::size_t>({count_ + more_for_alpha, of.cities() - 1, limits::candidates_max});
    if (by == nearness::alpha && of.is_symmetric() && wide > count_ &&
        of.cities() <= limits::alpha_cities_max) {
        const candidates all{of, static_cast<std::uint32_t>(wide)};
        there_ = alpha_nearest(of, all.there_, first_tour(of, all), count_);
        return;
    }
    if (of.kind() == edge_weights::matrix) {
        there_ = all_nearest(of, count_, false);
        if (!of.is_symmetric())
            back_ = all_nearest(of, count_, true);
        return;
    }
    there_.reserve(of.cities() * count_);
    quadrant_choice choice{of, count_};
    for (city c = 0; static_cast<std::size_t>(c) < of.cities(); ++c)
        choice.append(c, there_);
}

} // namespace troupe::tsp
