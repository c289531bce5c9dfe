// gram_cache: room for what is asked for.
#include <algorithm>
#include <cmath>

#include "apps/lasso/gram_cache.hpp"

namespace troupe::lasso {

namespace {

// Below so many products their share that is not 0 is not known.
constexpr double products_min = 1e4;

} // namespace

std::size_t gram_cache::rows_that_fit(std::size_t others) const noexcept {
    // n (n + others) of them, at this cost each
    const double fit = static_cast<double>(entries_max_) / (share_of_entries() + 1.0 / 64);
    const auto half = static_cast<double>(others) / 2;
    return static_cast<std::size_t>(std::sqrt(fit + half * half) - half);
}

std::size_t gram_cache::make_room(std::span<const std::int64_t> chosen,
                                  std::span<const std::int32_t> partners, const use& u) {
    chosen = chosen.first(std::min(chosen.size(), rows_that_fit(partners.size())));
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
    std::vector<double> costs; // of the rows
    double cost = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        const place& p = places_[columns[i]];
        const auto missing = static_cast<double>(needed.count_without(p.known));
        costs.push_back(missing * share_of_entries());
        if (!p.has_row)
            costs.back() += static_cast<double>(places_.size()) / 64;
        cost += costs.back();
    }
    const auto max = static_cast<double>(entries_max_);
    drop_oldest(static_cast<double>(entries()) + cost - max, std::min(u.oldest, u.number));
    double used = static_cast<double>(entries());
    std::size_t room = 0;
    for (; room < chosen.size() && used + costs[room] <= max; ++room) {
        used += costs[room];
        if (!places_[columns[room]].has_row)
            add_row(columns[room]);
    }
    return room;
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

// Drops the variables whose last uses are longest ago, until there are about so many entries less.
void gram_cache::drop_oldest(double excess, std::uint64_t oldest) {
    if (excess <= 0)
        return;
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
