#include "apps/tsp/tour_builder.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe::tsp {

tour_builder::tour_builder(const instance& of, const candidates& near, choice_kind choice,
                           greed how)
    : of_{of}, near_{near}, choice_{choice}, greed_{how}, places_(of.cities()),
      weights_(near.count()) {}

std::span<const city> tour_builder::build(trails& by, random_stream& random) {
    left_.resize(of_.cities());
    std::iota(left_.begin(), left_.end(), 0);
    std::iota(places_.begin(), places_.end(), 0u);
    order_.clear();
    city c = static_cast<city>(random.below(of_.cities()));
    for (visit(c); !left_.empty(); visit(c)) {
        const std::size_t k = choose_candidate(c, by, random);
        const city next = k < near_.count() ? near_.of(c)[k] : nearest_left(c);
        if (greed_.taken_up > 0 && k < near_.count())
            by.mix(c, k, greed_.taken_up, greed_.trail);
        c = next;
    }
    return order_;
}

std::size_t tour_builder::choose_candidate(city from, const trails& by, random_stream& random) {
    const auto near = near_.of(from);
    const auto weights = by.weights(from);
    for (std::size_t k = 0; k < near.size(); ++k)
        weights_[k] = is_left(near[k]) ? weights[k] : 0;
    if (greed_.share > 0 && random.uniform() < greed_.share) {
        const auto best = std::ranges::max_element(weights_);
        return *best > 0 ? static_cast<std::size_t>(best - weights_.begin()) : near.size();
    }
    return choose(choice_, weights_, random);
}

city tour_builder::nearest_left(city from) const {
    return *std::ranges::min_element(left_, {}, [&](city to) {
        return std::pair{of_.length(from, to), to};
    });
}

bool tour_builder::is_left(city c) const noexcept {
    const std::size_t place = places_[static_cast<std::size_t>(c)];
    return place < left_.size() && left_[place] == c;
}

void tour_builder::visit(city c) {
    order_.push_back(c);
    const std::uint32_t place = places_[static_cast<std::size_t>(c)];
    left_[place] = left_.back();
    places_[static_cast<std::size_t>(left_[place])] = place;
    left_.pop_back();
}

} // namespace troupe::tsp
