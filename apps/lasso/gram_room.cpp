// gram_cache: room for what is asked for.
#include <algorithm>
#include <cmath>

#include "apps/lasso/gram_cache.hpp"

namespace troupe::lasso {

namespace {

// Below so many products their share that is not 0 is not known.
constexpr double products_min = 1e4;
constexpr double word_bits = 64;

} // namespace

std::size_t gram_cache::room(std::size_t partners, const use& u) const noexcept {
    const std::uint64_t oldest = std::min(u.oldest, u.number);
    double needed = 0; // of what is under way
    for (const place& p : places_)
        if (p.column >= 0 && p.last_use >= oldest)
            needed += static_cast<double>(p.products.size());
    needed += static_cast<double>(words());
    const double left = static_cast<double>(entries_max_) - needed;
    if (left <= 0)
        return 0;
    // n of them have n (n + 2 partners) products that are not known yet, as partners may have rows as well, and n rows of
    // bits, whose number is not known yet either.
    const double share = share_of_entries(), square = share + 1.0 / word_bits;
    const double linear = 2 * share * static_cast<double>(partners) +
                          static_cast<double>(places_.size() + partners) / word_bits +
                          static_cast<double>(row_count_) / word_bits;
    const double root = std::sqrt(linear * linear + 4 * square * left);
    return static_cast<std::size_t>((root - linear) / (2 * square));
}

void gram_cache::make_room(std::span<const std::int64_t> chosen,
                           std::span<const std::int32_t> partners, const use& u) {
    place_list columns; // of all that are needed
    const auto need = [&](std::int32_t column) {
        use_place(column, u.number);
        columns.push_back(place_of_.at(column));
    };
    for (const std::int64_t j : chosen)
        need(static_cast<std::int32_t>(j));
    for (const std::int32_t column : partners)
        need(column);
    const place_set needed = set_of(columns);
    double cost = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const place& p = places_[columns[i]];
        cost += share_of_entries() * static_cast<double>(needed.count_without(p.known));
        if (!p.has_row)
            cost += static_cast<double>(places_.size()) / word_bits;
    }
    const auto excess = [&] {
        return static_cast<double>(entries()) + cost - static_cast<double>(entries_max_);
    };
    while (excess() > 0 && drop_oldest(excess(), std::min(u.oldest, u.number))) {
    }
    for (std::size_t i = 0; i < chosen.size(); ++i)
        if (!places_[columns[i]].has_row)
            add_row(columns[i]);
}

// With what other rows have of it.
void gram_cache::add_row(std::size_t at) {
    place& made = places_[at];
    made.has_row = true;
    ++row_count_;
    for (std::size_t row = 0; row < places_.size(); ++row) {
        const place& p = places_[row];
        if (row == at || !p.known.contains(at))
            continue;
        made.known.insert(row);
        known_products_ += 1;
        for (std::size_t e = 0; e < p.places.size(); ++e)
            if (p.places[e] == at) {
                made.places.push_back(static_cast<std::uint32_t>(row));
                made.products.push_back(p.products[e]);
                ++stored_;
            }
    }
}

void gram_cache::use_place(std::int32_t column, std::uint64_t number) {
    const auto [found, is_new] = place_of_.try_emplace(column, places_.size());
    if (is_new) {
        if (free_.empty()) {
            places_.emplace_back();
        } else {
            found->second = free_.back();
            free_.pop_back();
        }
        places_[found->second].column = column;
    }
    places_[found->second].last_use = number;
}

std::size_t gram_cache::words() const noexcept {
    return row_count_ * places_.size() / 64;
}

double gram_cache::share_of_entries() const noexcept {
    return known_products_ < products_min ? 1.0 : static_cast<double>(stored_) / known_products_;
}

// Drops the variables whose last uses are longest ago, until there are perhaps so many entries less; false if there are
// none.
bool gram_cache::drop_oldest(double excess, std::uint64_t oldest) {
    place_list old;
    for (std::size_t at = 0; at < places_.size(); ++at)
        if (places_[at].column >= 0 && places_[at].last_use < oldest)
            old.push_back(at);
    std::ranges::sort(old, {}, [this](std::size_t at) {
        return std::pair{places_[at].last_use, places_[at].column};
    });
    place_list dropped;
    for (const std::size_t at : old) {
        if (excess <= 0)
            break;
        excess -= 2 * static_cast<double>(places_[at].products.size());
        dropped.push_back(at);
    }
    drop(dropped);
    return !dropped.empty();
}

void gram_cache::drop(const place_list& dropped) {
    const place_set gone = set_of(dropped);
    for (const std::size_t at : dropped) {
        place& p = places_[at];
        stored_ -= p.products.size();
        row_count_ -= p.has_row;
        known_products_ -= static_cast<double>(p.known.count_without({}));
        place_of_.erase(p.column);
        p = {};
        free_.push_back(at);
    }
    for (place& p : places_) {
        if (!p.has_row)
            continue;
        std::size_t kept = 0;
        for (std::size_t e = 0; e < p.places.size(); ++e)
            if (!gone.contains(p.places[e])) {
                p.places[kept] = p.places[e];
                p.products[kept++] = p.products[e];
            }
        stored_ -= p.places.size() - kept;
        p.places.resize(kept);
        p.products.resize(kept);
        for (const std::size_t at : dropped) {
            known_products_ -= p.known.contains(at);
            p.known.erase(at);
        }
    }
}

} // namespace troupe::lasso
