#include "apps/tsp/place_tree.hpp"

#include <algorithm>
#include <utility>

namespace troupe::tsp {

namespace {

constexpr std::size_t leaf_places = 8;

double squared_distance(const place& a, const place& b) noexcept {
    double sum = 0;
    for (std::size_t axis = 0; axis < a.size(); ++axis)
        sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

} // namespace

place_tree::place_tree(std::vector<place> places)
    : places_{std::move(places)}, order_(places_.size()), axes_(places_.size()) {
    for (std::size_t i = 0; i < order_.size(); ++i)
        order_[i] = i;
    split(0, order_.size());
}

void place_tree::split(std::size_t first, std::size_t end) {
    if (end - first <= leaf_places)
        return;
    place low = places_[order_[first]], high = low;
    for (std::size_t i = first; i < end; ++i)
        for (std::size_t axis = 0; axis < low.size(); ++axis) {
            low[axis] = std::min(low[axis], places_[order_[i]][axis]);
            high[axis] = std::max(high[axis], places_[order_[i]][axis]);
        }
    std::size_t widest = 0;
    for (std::size_t axis = 1; axis < low.size(); ++axis)
        if (high[axis] - low[axis] > high[widest] - low[widest])
            widest = axis;
    const std::size_t middle = first + (end - first) / 2;
    const auto at = [this](std::size_t i) {
        return order_.begin() + static_cast<std::ptrdiff_t>(i);
    };
    std::nth_element(at(first), at(middle), at(end), [&](std::size_t a, std::size_t b) {
        return std::pair{places_[a][widest], a} < std::pair{places_[b][widest], b};
    });
    axes_[middle] = static_cast<unsigned char>(widest);
    split(first, middle);
    split(middle + 1, end);
}

bool place_tree::is_inside(const place& p, const place& from) const noexcept {
    for (std::size_t axis = 0; axis < p.size(); ++axis)
        if (sides_[axis] != side::any && (p[axis] < from[axis]) != (sides_[axis] == side::below))
            return false;
    return true;
}

void place_tree::look_at(std::size_t number, const place& from, std::size_t count) {
    if (!is_inside(places_[number], from))
        return;
    const found next{squared_distance(places_[number], from), number};
    if (heap_.size() == count) {
        if (!(next < heap_.front()))
            return;
        std::ranges::pop_heap(heap_);
        heap_.back() = next;
    } else
        heap_.push_back(next);
    std::ranges::push_heap(heap_);
}

void place_tree::search(std::size_t first, std::size_t end, const place& from, std::size_t count,
                        std::size_t without) {
    if (end - first <= leaf_places) {
        for (std::size_t i = first; i < end; ++i)
            if (order_[i] != without)
                look_at(order_[i], from, count);
        return;
    }
    const std::size_t middle = first + (end - first) / 2;
    const std::size_t axis = axes_[middle];
    const double beyond = from[axis] - places_[order_[middle]][axis];
    const bool is_low = beyond < 0;
    // Beyond the middle, where the other side is, nothing lies on this one.
    const side other = is_low ? side::below : side::not_below;
    const bool is_cut_off = beyond != 0 && sides_[axis] == other;
    search(is_low ? first : middle + 1, is_low ? middle : end, from, count, without);
    if (order_[middle] != without)
        look_at(order_[middle], from, count);
    // Also at the same distance: the number decides there.
    if (!is_cut_off && (heap_.size() < count || beyond * beyond <= heap_.front().distance))
        search(is_low ? middle + 1 : first, is_low ? end : middle, from, count, without);
}

std::span<const std::size_t> place_tree::nearest(std::size_t of, std::size_t count) {
    sides_ = {};
    return found_for(of, count);
}

std::span<const std::size_t> place_tree::nearest_in(unsigned quadrant, std::size_t of,
                                                    std::size_t count) {
    sides_ = {(quadrant & 1) != 0 ? side::not_below : side::below,
              (quadrant & 2) != 0 ? side::not_below : side::below, side::any};
    return found_for(of, count);
}

std::span<const std::size_t> place_tree::found_for(std::size_t of, std::size_t count) {
    heap_.clear();
    numbers_.clear();
    if (count == 0)
        return numbers_;
    search(0, order_.size(), places_[of], count, of);
    std::ranges::sort_heap(heap_);
    for (const found& f : heap_)
        numbers_.push_back(f.number);
    return numbers_;
}

} // namespace troupe::tsp
