// The path that a tour becomes when an edge of it is taken out, after reversals of parts of it that have not been carried
// out: the stretches of the tour that it consists of, in its order. What follows what costs a look at a few stretches,
// however long they are, so that a search may try many changes and carry out those that pay.
//
// Cities are given by their index on the first path, from 0 at its moving end to cities - 1 at its fixed end, which stays
// the last one. Where two stretches meet lies an edge that is not in the tour.
//
// Threads: a value.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "schemas/base/check.hpp"

namespace troupe::tsp {

class pending_path {
  public:
    using index = std::int32_t;
    static constexpr std::size_t stretches_max = 24;

    explicit pending_path(index cities) noexcept { all_[0] = {0, cities - 1}; }
    pending_path(const pending_path& other) noexcept : count_{other.count_} {
        std::copy_n(other.all_.begin(), count_, all_.begin());
    }
    // `of`, of which the part from the moving end to `last`, in its stretch, is reversed.
    pending_path(const pending_path& of, std::size_t stretch, index last) noexcept
        : count_{of.count_} {
        TROUPE_CHECK(count_ < stretches_max, "a search is not as deep");
        all_[0] = {last, of.all_[stretch].first};
        for (std::size_t s = 0; s < stretch; ++s)
            all_[stretch - s] = {of.all_[s].last, of.all_[s].first};
        std::size_t to = stretch + 1;
        if (!of.ends(stretch, last))
            all_[to++] = {of.after(stretch, last), of.all_[stretch].last};
        std::copy(of.all_.begin() + static_cast<std::ptrdiff_t>(stretch) + 1,
                  of.all_.begin() + static_cast<std::ptrdiff_t>(count_),
                  all_.begin() + static_cast<std::ptrdiff_t>(to));
        count_ += to - stretch - 1;
    }
    pending_path& operator=(const pending_path&) = delete;

    // The stretch in which it lies, from 0 at the moving end.
    std::size_t stretch_of(index i) const noexcept {
        std::size_t s = 0;
        while (i < std::min(all_[s].first, all_[s].last) ||
               i > std::max(all_[s].first, all_[s].last))
            ++s;
        return s;
    }
    bool begins(std::size_t stretch, index i) const noexcept { return all_[stretch].first == i; }
    bool ends(std::size_t stretch, index i) const noexcept { return all_[stretch].last == i; }
    // Neighbours in the stretch, which it does not begin or end: towards the moving end, and towards the fixed one.
    index before(std::size_t stretch, index i) const noexcept { return i - step(stretch); }
    index after(std::size_t stretch, index i) const noexcept { return i + step(stretch); }
    // Whether a comes before b, or is b; both with their stretches.
    bool is_up_to(std::size_t stretch_a, index a, std::size_t stretch_b, index b) const noexcept {
        if (stretch_a != stretch_b)
            return stretch_a < stretch_b;
        return step(stretch_a) > 0 ? a <= b : a >= b;
    }
    index end() const noexcept { return all_[0].first; }

    // Reverses the path from a to b, which does not come before it.
    void reverse(index a, index b) noexcept {
        std::size_t first = stretch_of(a);
        if (!begins(first, a)) {
            cut_before(first, a);
            ++first;
        }
        const std::size_t last = stretch_of(b);
        if (!ends(last, b))
            cut_before(last, after(last, b));
        std::reverse(all_.begin() + static_cast<std::ptrdiff_t>(first),
                     all_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
        for (std::size_t s = first; s <= last; ++s)
            std::swap(all_[s].first, all_[s].last);
    }

  private:
    struct stretch {
        index first, last; // in the order of the path: falling if it is run through backwards
    };
    index step(std::size_t s) const noexcept { return all_[s].first <= all_[s].last ? 1 : -1; }
    void cut_before(std::size_t s, index i) noexcept {
        TROUPE_CHECK(count_ < stretches_max, "a search is not as deep");
        std::copy_backward(all_.begin() + static_cast<std::ptrdiff_t>(s),
                           all_.begin() + static_cast<std::ptrdiff_t>(count_),
                           all_.begin() + static_cast<std::ptrdiff_t>(count_) + 1);
        ++count_;
        all_[s].last = before(s, i);
        all_[s + 1].first = i;
    }

    std::array<stretch, stretches_max> all_; // copies take those that are there
    std::size_t count_ = 1;
};

} // namespace troupe::tsp
