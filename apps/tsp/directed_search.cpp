#include "apps/tsp/directed_search.hpp"

namespace troupe::tsp {

directed_search::directed_search(const instance& of, const candidates& near)
    : of_{of}, near_{near}, queue_{of.cities()} {}

std::int64_t directed_search::improve(tour& t) {
    tour_ = &t;
    std::int64_t all = 0;
    while (!queue_.is_empty()) {
        const city c = queue_.pop();
        std::int64_t gain = improve_after(c);
        if (gain == 0)
            gain = improve_before(c);
        all += gain;
        if (gain > 0)
            queue_.push(c);
    }
    return all;
}

// A tour a b ... p c ... e f ... becomes a c ... e b ... p f ...: the gain if it is shorter, and carried out; else 0.
std::int64_t directed_search::try_exchange(city a, city c, city e) {
    tour& t = *tour_;
    const city b = t.next(a), p = t.previous(c), f = t.next(e);
    const std::size_t n = t.cities(), base = t.place_of(b);
    const auto behind_b = [&](city x) {
        const std::size_t place = t.place_of(x);
        return place >= base ? place - base : place + n - base;
    };
    const std::size_t left = behind_b(c), last = behind_b(e);
    if (left == 0 || last < left || last + 1 >= n)
        return 0;
    const std::int64_t gain = of_.length(a, b) + of_.length(p, c) + of_.length(e, f) -
                              of_.length(a, c) - of_.length(e, b) - of_.length(p, f);
    if (gain <= 0)
        return 0;
    t.exchange_any_way(base, left, last - left + 1);
    for (const city end : {a, b, p, c, e, f})
        queue_.push(end);
    return gain;
}

// Another way out of a, to c; and then into b, or out of p.
std::int64_t directed_search::improve_after(city a) {
    const city b = tour_->next(a);
    const std::int64_t now = of_.length(a, b);
    for (const city c : near_.of(a)) {
        const std::int64_t first = now - of_.length(a, c);
        if (first <= 0)
            break;
        const city p = tour_->previous(c);
        if (p == a)
            continue;
        const std::int64_t second = first + of_.length(p, c);
        for (const city e : near_.into(b)) {
            if (second - of_.length(e, b) <= 0)
                break;
            if (const std::int64_t gain = try_exchange(a, c, e); gain > 0)
                return gain;
        }
        for (const city f : near_.of(p)) {
            if (second - of_.length(p, f) <= 0)
                break;
            if (const std::int64_t gain = try_exchange(a, c, tour_->previous(f)); gain > 0)
                return gain;
        }
    }
    return 0;
}

// Another way into b, from e; and then out of the city before b.
std::int64_t directed_search::improve_before(city b) {
    const city a = tour_->previous(b);
    const std::int64_t now = of_.length(a, b);
    for (const city e : near_.into(b)) {
        const std::int64_t first = now - of_.length(e, b);
        if (first <= 0)
            break;
        const std::int64_t second = first + of_.length(e, tour_->next(e));
        for (const city c : near_.of(a)) {
            if (second - of_.length(a, c) <= 0)
                break;
            if (const std::int64_t gain = try_exchange(a, c, e); gain > 0)
                return gain;
        }
    }
    return 0;
}

} // namespace troupe::tsp
