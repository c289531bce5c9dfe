#include "apps/tsp/found_tours.hpp"

#include <algorithm>

namespace troupe::tsp {

namespace {

constexpr std::int64_t none = -1;

error bad_tours(const std::string& sentence) {
    return {errc::protocol, sentence};
}

} // namespace

found_tours::found_tours(std::uint32_t colonies, std::size_t cities)
    : cities_{cities}, tours_(colonies * cities), lengths_(colonies, none), built_(colonies),
      given_(colonies, none) {}

result<void> found_tours::take(std::uint32_t colony, std::int64_t length, std::int64_t built,
                               std::span<const city> tour) {
    if (length < 0 || built < built_[colony])
        return bad_tours("a colony has a tour of no length, or fewer tours than before");
    if (tour.empty())
        return lengths_[colony] == length && (built_[colony] = built, true)
                   ? result<void>{}
                   : bad_tours("a colony has another tour than it has sent");
    if (!is_tour(tour, cities_))
        return bad_tours("colony " + std::to_string(colony) +
                         " sends what is no tour of all cities");
    std::ranges::copy(tour, tours_.begin() + static_cast<std::ptrdiff_t>(colony * cities_));
    lengths_[colony] = length;
    built_[colony] = built;
    return {};
}

bool found_tours::are_there() const noexcept {
    return std::ranges::count(lengths_, none) == 0;
}

std::uint32_t found_tours::best() const noexcept {
    return static_cast<std::uint32_t>(std::ranges::min_element(lengths_) - lengths_.begin());
}

std::int64_t found_tours::least_built() const noexcept {
    return *std::ranges::min_element(built_);
}

std::vector<std::int32_t> found_tours::changed() const {
    std::vector<std::int32_t> all;
    for (std::size_t c = 0; c < lengths_.size(); ++c)
        if (lengths_[c] != given_[c])
            all.push_back(static_cast<std::int32_t>(c));
    return all;
}

std::int64_t found_tours::best_given() const noexcept {
    std::int64_t least = none;
    for (const std::int64_t length : given_)
        if (length != none && (least == none || length < least))
            least = length;
    return least;
}

result<void> found_tours::load(std::span<const city> tours, std::span<const std::int64_t> lengths,
                               std::span<const std::int64_t> built,
                               std::span<const std::int64_t> given) {
    if (tours.size() != tours_.size() || lengths.size() != lengths_.size() ||
        built.size() != built_.size() || given.size() != given_.size())
        return bad_tours("the saved tours are of other colonies");
    for (std::size_t c = 0; c < lengths.size(); ++c)
        if (lengths[c] < none || built[c] < 0 ||
            (lengths[c] != none && !is_tour(tours.subspan(c * cities_, cities_), cities_)))
            return bad_tours("the saved tours are none of all cities");
    tours_.assign(tours.begin(), tours.end());
    lengths_.assign(lengths.begin(), lengths.end());
    built_.assign(built.begin(), built.end());
    given_.assign(given.begin(), given.end());
    return {};
}

} // namespace troupe::tsp
