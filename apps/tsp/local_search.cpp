#include "apps/tsp/local_search.hpp"

#include <algorithm>

#include "schemas/base/check.hpp"

namespace troupe::tsp {

namespace {

// Exchanges that are tried of each level's, the most promising first.
constexpr std::array<std::size_t, local_search::depth_max> breadths{5, 4, 3, 2, 1, 1, 1, 1, 1, 1};
// Exchanges of a chain that may make a cycle: further ones seldom pay for their search.
constexpr std::size_t cycle_levels = 1;

} // namespace

local_search::local_search(const instance& of, const candidates& near, std::size_t depth)
    : of_{of}, depth_{depth}, looked_at_{near.count()}, queue_{of.cities()} {
    TROUPE_CHECK(depth >= 1 && depth <= depth_max, "a chain has a few exchanges");
    ways_.reserve(of.cities() * looked_at_);
    for (city c = 0; static_cast<std::size_t>(c) < of.cities(); ++c)
        for (const city to : near.of(c))
            ways_.push_back({to, static_cast<std::uint32_t>(of.length(c, to))});
}

city local_search::city_at(index i) const noexcept {
    const auto step = static_cast<std::size_t>(i);
    const std::size_t n = tour_->cities();
    if (is_forward_)
        return tour_->at(base_ + step < n ? base_ + step : base_ + step - n);
    return tour_->at(base_ >= step ? base_ - step : base_ + n - step);
}

local_search::index local_search::index_of(city c) const noexcept {
    const std::size_t place = tour_->place_of(c), n = tour_->cities();
    if (is_forward_)
        return static_cast<index>(place >= base_ ? place - base_ : place + n - base_);
    return static_cast<index>(base_ >= place ? base_ - place : base_ + n - place);
}

std::int64_t local_search::improve(tour& t) {
    tour_ = &t;
    std::int64_t all = 0;
    if (t.cities() < 5) { // no two exchanges are apart
        while (!queue_.is_empty())
            queue_.pop();
        return 0;
    }
    while (!queue_.is_empty()) {
        const city c = queue_.pop();
        for (const bool is_forward : {true, false})
            if (const std::int64_t gain = improve_from(c, is_forward); gain > 0) {
                all += gain;
                queue_.push(c);
                break;
            }
    }
    return all;
}

// Without the edge from `fixed` to its neighbour the tour is a path from there to `fixed`.
std::int64_t local_search::improve_from(city fixed, bool is_forward) {
    fixed_ = fixed;
    is_forward_ = is_forward;
    const city end = is_forward ? tour_->next(fixed) : tour_->previous(fixed);
    base_ = tour_->place_of(end);
    chain_.clear();
    const pending_path path{static_cast<index>(tour_->cities())};
    const std::int64_t gain = search(path, of_.length(fixed, end), 0);
    if (gain > 0)
        carry_out();
    return gain;
}

void local_search::choice_list::insert(const exchange& e, std::size_t breadth) noexcept {
    if (count_ < breadth)
        ++count_;
    else if (count_ == 0 || e.gain <= all_[count_ - 1].gain)
        return;
    std::size_t at = count_ - 1;
    for (; at > 0 && all_[at - 1].gain < e.gain; --at)
        all_[at] = all_[at - 1];
    all_[at] = e;
}

// The gain of the first closed tour that is shorter, whose reversals are in chain_; 0 if there is none.
std::int64_t local_search::search(const pending_path& path, std::int64_t gain, std::size_t level) {
    const city end = city_at(path.end());
    const bool is_last = level + 1 >= depth_, may_make_cycles = level < cycle_levels && !is_last;
    const std::size_t breadth = is_last ? 0 : breadths[level];
    choice_list& choices = choices_[level];
    choices.clear();
    std::int64_t best = 0;
    city best_out = 0;
    for (const way w : ways(end)) {
        const std::int64_t open = gain - w.length;
        if (open <= 0)
            break;
        if (w.to == fixed_)
            continue;
        const index i = index_of(w.to);
        const std::size_t s = path.stretch_of(i);
        const auto stretch = static_cast<std::uint32_t>(s);
        if (!path.begins(s, i)) {
            const index before = path.before(s, i);
            if (before == path.end())
                continue; // they are neighbours
            const city out = city_at(before);
            const std::int64_t all = open + of_.length(w.to, out);
            if (!of_.is_at_least(all - best, out, fixed_)) { // closed it is shorter
                best = all - of_.length(out, fixed_);
                best_out = out;
            }
            choices.insert({all, i, before, stretch, false}, breadth);
        }
        if (may_make_cycles && !path.ends(s, i)) {
            const index after = path.after(s, i);
            const std::int64_t all = open + of_.length(w.to, city_at(after));
            choices.insert({all, i, after, stretch, true}, breadth);
        }
    }
    if (best > 0) {
        record(end, best_out);
        return best;
    }
    for (std::size_t k = 0; k < choices.count(); ++k) {
        const exchange e = choices[k];
        const std::size_t mark = chain_.size();
        std::int64_t found = 0;
        if (e.makes_cycle)
            found = search_cycle(path, e, level);
        else {
            record(end, city_at(e.out));
            found = search(pending_path{path, e.stretch, e.out}, e.gain, level + 1);
        }
        if (found > 0)
            return found;
        chain_.resize(mark);
    }
    return 0;
}

// `first` has made a cycle of what lies before it: the rest's end is joined to a city of the cycle, beside which that is
// opened.
std::int64_t local_search::search_cycle(const pending_path& path, const exchange& first,
                                        std::size_t level) {
    const city end = city_at(path.end()), rest = city_at(first.out), joined = city_at(first.to);
    exchange best{0, 0, 0, 0, false};
    bool is_closed = false;
    for (const way w : ways(rest)) {
        const std::int64_t open = first.gain - w.length;
        if (is_closed || open <= 0)
            break;
        const city c = w.to;
        const index i = index_of(c);
        const std::size_t s = path.stretch_of(i);
        if (c == joined || !path.is_up_to(s, i, first.stretch, first.to))
            continue;
        // Neighbours in the cycle; where stretches meet is an edge that was put in.
        for (const bool is_before : {true, false}) {
            if (is_before ? path.begins(s, i) : path.ends(s, i))
                continue;
            const index out = is_before ? path.before(s, i) : path.after(s, i);
            const std::int64_t gain = open + of_.length(c, city_at(out));
            const std::int64_t closed = gain - of_.length(city_at(out), fixed_);
            is_closed = closed > 0;
            if (is_closed || gain > best.gain)
                best = {gain, i, out, static_cast<std::uint32_t>(s), is_before};
            if (is_closed)
                break;
        }
    }
    if (best.gain <= 0)
        return 0;
    const city to = city_at(best.to), out = city_at(best.out);
    pending_path next = path;
    if (best.makes_cycle) { // opened before `to`: both parts of the cycle are reversed
        next.reverse(path.end(), best.out);
        next.reverse(best.to, first.to);
        record(end, out);
        record(to, joined);
    } else { // behind it: they change places
        next.reverse(path.end(), first.to);
        next.reverse(first.to, best.out);
        next.reverse(best.to, path.end());
        record(end, joined);
        record(joined, out);
        record(to, end);
    }
    if (const std::int64_t closed = best.gain - of_.length(out, fixed_); closed > 0)
        return closed;
    return level + 2 < depth_ ? search(next, best.gain, level + 2) : 0;
}

void local_search::carry_out() {
    const std::size_t n = tour_->cities();
    city end = is_forward_ ? tour_->next(fixed_) : tour_->previous(fixed_);
    queue_.push(end);
    for (const reversal& r : chain_) {
        // The path may have been turned by the last reversal.
        const bool is_forward = tour_->next(fixed_) == end;
        const city from = is_forward ? r.first : r.last, to = is_forward ? r.last : r.first;
        const std::size_t first = tour_->place_of(from), last = tour_->place_of(to);
        queue_.push(r.first);
        queue_.push(r.last);
        const city beyond = is_forward ? tour_->next(r.last) : tour_->previous(r.last);
        queue_.push(beyond);
        tour_->reverse_either_way(first, (last >= first ? last - first : last + n - first) + 1);
        if (r.first == end)
            end = r.last;
    }
}

} // namespace troupe::tsp
