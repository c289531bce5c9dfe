#include "apps/lasso/gram_cache.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <unordered_set>

namespace troupe::lasso {

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double asked = std::numeric_limits<double>::infinity();
constexpr std::size_t places_at_once = 64;
constexpr std::size_t tile = 32;

// Calls f(i, k) for all i below `rows` and all k below `columns`, one square after the other: an entry is written both ways,
// and so both lie near what was written just before.
template <class Function>
void for_each_pair(std::size_t rows, std::size_t columns, Function f) {
    for (std::size_t first = 0; first < rows; first += tile)
        for (std::size_t from = 0; from < columns; from += tile)
            for (std::size_t i = first; i < std::min(first + tile, rows); ++i)
                for (std::size_t k = from; k < std::min(from + tile, columns); ++k)
                    f(i, k);
}

std::int32_t narrow(std::int64_t column) {
    return static_cast<std::int32_t>(column);
}

// The chosen and the partners, each once, rising.
std::vector<std::int32_t> all_of(std::span<const std::int64_t> chosen,
                                 std::span<const std::int32_t> partners) {
    std::vector<std::int32_t> all{partners.begin(), partners.end()};
    std::ranges::transform(chosen, std::back_inserter(all), narrow);
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
}

error not_there(std::int64_t row, std::int64_t column) {
    return {errc::protocol, "the product of columns " + std::to_string(row) + " and " +
                                std::to_string(column) +
                                " is needed, but was not asked for, or is no number"};
}

} // namespace

// ---- room ----

bool gram_cache::holds(std::size_t variables, std::size_t partners) const noexcept {
    return variables * std::max(places_.size(), variables + partners) <= entries_max_;
}

std::size_t gram_cache::room(std::span<const std::int64_t> variables,
                             std::span<const std::int32_t> partners, const use& u) const {
    const std::uint64_t oldest = std::min(u.oldest, u.number);
    std::unordered_set<std::int32_t> kept{partners.begin(), partners.end()}, kept_rows;
    for (const place& p : places_)
        if (p.column >= 0 && (p.last_use >= oldest || kept.contains(p.column))) {
            kept.insert(p.column);
            if (p.has_row())
                kept_rows.insert(p.column);
        }
    std::size_t new_places = 0, new_rows = 0;
    for (const std::int64_t j : variables) {
        new_places += !kept.contains(narrow(j));
        new_rows += !kept_rows.contains(narrow(j));
    }
    const auto fits = [&](std::size_t count) {
        const std::size_t rows = kept_rows.size() + std::min(count, new_rows);
        const std::size_t places = kept.size() + std::min(count, new_places);
        return rows * std::max(places_.size(), places) <= entries_max_;
    };
    const auto counts = std::views::iota(std::size_t{1}, variables.size() + 1);
    return static_cast<std::size_t>(std::ranges::partition_point(counts, fits) - counts.begin());
}

std::size_t gram_cache::make_room(std::span<const std::int64_t> chosen,
                                  std::span<const std::int32_t> partners, const use& u) {
    const std::vector<std::int32_t> needed = all_of(chosen, partners);
    const auto count_new = [&] {
        return static_cast<std::size_t>(std::ranges::count_if(
            needed, [&](std::int32_t column) { return !place_of_.contains(column); }));
    };
    const auto has_row = [&](std::int64_t j) {
        const auto found = place_of_.find(narrow(j));
        return found != place_of_.end() && places_[found->second].has_row();
    };
    for (const std::int32_t column : needed)
        if (place_of_.contains(column))
            use_place(column, u.number);
    const std::size_t new_places = count_new();
    const auto new_rows = static_cast<std::size_t>(
        std::ranges::count_if(chosen, [&](std::int64_t j) { return !has_row(j); }));
    const auto places_then = [&] {
        return places_.size() + new_places - std::min(new_places, free_.size());
    };
    while ((row_count_ + new_rows) * places_then() > entries_max_ &&
           drop_oldest(std::min(u.oldest, u.number))) {
    }
    const std::size_t rows_max = entries_max_ / std::max<std::size_t>(places_then(), 1);
    grow(places_then());
    std::unordered_set<std::size_t> new_ones; // no row has anything of them
    for (const std::int32_t column : needed)
        if (use_place(column, u.number))
            new_ones.insert(place_of_.at(column));
    std::size_t room = 0;
    for (; room < chosen.size(); ++room) {
        if (has_row(chosen[room]))
            continue;
        if (row_count_ >= rows_max)
            break;
        const std::size_t at = place_of_.at(narrow(chosen[room]));
        add_row(at, new_ones.contains(at));
    }
    return room;
}

// Whether it is a new one.
bool gram_cache::use_place(std::int32_t column, std::uint64_t number) {
    const auto [found, is_new] = place_of_.try_emplace(column, 0);
    if (is_new) {
        found->second = free_.back();
        free_.pop_back();
        places_[found->second].column = column;
    }
    places_[found->second].last_use = number;
    return is_new;
}

// Drops the variable whose last use is longest ago; false if all are needed.
bool gram_cache::drop_oldest(std::uint64_t oldest) {
    const auto age = [](const place& p) { return std::pair{p.last_use, p.column}; };
    std::size_t found = places_.size();
    for (std::size_t i = 0; i < places_.size(); ++i)
        if (places_[i].column >= 0 && places_[i].last_use < oldest &&
            (found == places_.size() || age(places_[i]) < age(places_[found])))
            found = i;
    if (found == places_.size())
        return false;
    drop(places_[found], found);
    return true;
}

void gram_cache::drop(place& p, std::size_t at) {
    if (at < is_mutual_.size())
        is_mutual_[at] = false;
    place_of_.erase(p.column);
    row_count_ -= p.has_row();
    p = {};
    free_.push_back(at);
    for (place& other : places_)
        if (other.has_row())
            other.products[at] = missing;
}

void gram_cache::grow(std::size_t places) {
    if (places <= places_.size())
        return;
    // Some more, if they are within the bound, so that rows move seldom.
    const std::size_t roomy = std::max(places, places_.size() + places_at_once);
    if (roomy * roomy <= entries_max_)
        places = roomy;
    for (std::size_t at = places; at > places_.size(); --at)
        free_.push_back(at - 1);
    places_.resize(places);
    for (place& p : places_)
        if (p.has_row())
            p.products.resize(places, missing);
}

void gram_cache::add_row(std::size_t at, bool is_new) {
    std::vector<double> products(places_.size(), missing);
    for (std::size_t i = 0; i < places_.size() && !is_new; ++i)
        if (places_[i].has_row())
            products[i] = places_[i].products[at];
    places_[at].products = std::move(products);
    ++row_count_;
}

// ---- entries ----

bool gram_cache::is_missing(std::size_t row, std::size_t column) const {
    return std::isnan(places_[row].products[column]);
}

void gram_cache::mark(std::size_t row, std::size_t column, double product) {
    if (places_[row].has_row())
        places_[row].products[column] = product;
    if (places_[column].has_row())
        places_[column].products[row] = product;
}

gram_request gram_cache::ask(std::span<const std::int64_t> chosen,
                             std::span<const std::int32_t> partners) {
    const place_list needed = places_of(all_of(chosen, partners));
    is_mutual_.resize(places_.size());
    place_list not_mutual;
    std::ranges::copy_if(needed, std::back_inserter(not_mutual),
                         [this](std::size_t at) { return !is_mutual_[at]; });
    gram_request request;
    const auto add = [&](gram_block block) {
        if (block.entries() > 0)
            request.push_back(std::move(block));
    };
    place_list rows, new_rows, old_rows;
    for (const std::int64_t j : chosen) {
        const std::size_t row = place_of_.at(narrow(j));
        rows.push_back(row);
        (!is_mutual_[row] && misses_all(row, needed) ? new_rows : old_rows).push_back(row);
    }
    add(ask_new(new_rows, needed));
    // Of the others those that miss the same columns are asked for together.
    std::map<place_list, place_list> alike;
    for (const std::size_t row : old_rows) {
        place_list missed;
        for (const std::size_t column : is_mutual_[row] ? not_mutual : needed)
            if (column != row && is_missing(row, column))
                missed.push_back(column);
        if (!missed.empty())
            alike[std::move(missed)].push_back(row);
    }
    std::vector<const decltype(alike)::value_type*> order;
    for (const auto& group : alike)
        order.push_back(&group);
    // Large groups first. The rest of the order does not depend on where a variable has its place.
    std::ranges::sort(order, [this](const auto* a, const auto* b) {
        return std::pair{b->first.size(), places_[a->second.front()].column} <
               std::pair{a->first.size(), places_[b->second.front()].column};
    });
    for (const auto* group : order)
        add(ask_alike(group->second, group->first));
    if (!std::ranges::all_of(rows, [this](std::size_t at) { return is_mutual_[at]; })) {
        is_mutual_.assign(places_.size(), false);
        for (const std::size_t row : rows)
            is_mutual_[row] = true;
    }
    return request;
}

bool gram_cache::misses_all(std::size_t row, const place_list& needed) const {
    return std::ranges::all_of(
        needed, [&](std::size_t column) { return column == row || is_missing(row, column); });
}

// Rows that have nothing yet: with one another, and with all others that are needed.
gram_block gram_cache::ask_new(const place_list& rows, const place_list& needed) {
    gram_block block;
    if (rows.empty())
        return block;
    for (const std::size_t row : rows)
        block.rows.push_back(places_[row].column);
    for_each_pair(rows.size(), rows.size(), [&](std::size_t i, std::size_t k) {
        if (k < i)
            mark(rows[i], rows[k], asked);
    });
    ask_with(rows, needed, block);
    return block;
}

// Rows that miss the same columns, less what an earlier block has asked for.
gram_block gram_cache::ask_alike(const place_list& rows, const place_list& missed) {
    gram_block block;
    for (const std::size_t row : rows)
        block.rows.push_back(places_[row].column);
    ask_with(rows, missed, block);
    block.is_among = false;
    return block;
}

// The columns that all these rows miss.
void gram_cache::ask_with(const place_list& rows, const place_list& columns, gram_block& block) {
    place_list missed;
    for (const std::size_t column : columns)
        if (column != rows.front() && is_missing(rows.front(), column)) {
            missed.push_back(column);
            block.columns.push_back(places_[column].column);
        }
    for_each_pair(rows.size(), missed.size(),
                  [&](std::size_t i, std::size_t k) { mark(rows[i], missed[k], asked); });
}

gram_cache::place_list gram_cache::places_of(std::span<const std::int32_t> columns) const {
    place_list places;
    places.reserve(columns.size());
    for (const std::int32_t column : columns) {
        const auto found = place_of_.find(column);
        places.push_back(found == place_of_.end() ? places_.size() : found->second);
    }
    return places;
}

bool gram_cache::keep(const gram_request& request, std::span<const std::span<const double>> parts,
                      const std::function<double(std::int32_t)>& scale) {
    std::size_t begin = 0;
    bool are_numbers = true;
    for (const gram_block& block : request) {
        const place_list rows = places_of(block.rows), columns = places_of(block.columns);
        std::vector<double> row_scales, column_scales;
        std::ranges::transform(block.rows, std::back_inserter(row_scales), scale);
        std::ranges::transform(block.columns, std::back_inserter(column_scales), scale);
        const auto put = [&](std::size_t row, std::size_t column, std::size_t at, double divisor) {
            double sum = 0;
            for (const std::span<const double> part : parts)
                sum += part[at];
            are_numbers = are_numbers && std::isfinite(sum);
            if (row < places_.size() && column < places_.size())
                mark(row, column, sum / divisor);
        };
        if (block.is_among)
            for_each_pair(rows.size(), rows.size(), [&](std::size_t i, std::size_t k) {
                if (k < i)
                    put(rows[i], rows[k], begin + i * (i - 1) / 2 + k,
                        row_scales[i] * row_scales[k]);
            });
        begin += block.pairs();
        for_each_pair(rows.size(), columns.size(), [&](std::size_t i, std::size_t k) {
            put(rows[i], columns[k], begin + i * columns.size() + k,
                row_scales[i] * column_scales[k]);
        });
        begin += rows.size() * columns.size();
    }
    return are_numbers;
}

void gram_cache::put_square(std::int64_t variable, double square) {
    const std::size_t at = place_of_.at(narrow(variable));
    mark(at, at, square);
}

// Null if there is none.
const double* gram_cache::row_of(std::int64_t column) const {
    const auto found = place_of_.find(narrow(column));
    if (found == place_of_.end() || !places_[found->second].has_row())
        return nullptr;
    return places_[found->second].products.data();
}

result<std::vector<double>> gram_cache::gather(std::span<const std::int64_t> rows,
                                               std::span<const std::int32_t> columns) const {
    const place_list at = places_of(columns);
    std::vector<double> entries;
    entries.reserve(rows.size() * columns.size());
    for (const std::int64_t j : rows) {
        const double* products = row_of(j);
        for (std::size_t i = 0; i < at.size(); ++i) {
            entries.push_back(products != nullptr && at[i] < places_.size() ? products[at[i]]
                                                                            : missing);
            if (!std::isfinite(entries.back()))
                return not_there(j, columns[i]);
        }
    }
    return entries;
}

result<coupling_matrix> gram_cache::among(std::span<const std::int64_t> chosen) const {
    std::vector<std::int32_t> columns;
    std::ranges::transform(chosen, std::back_inserter(columns), narrow);
    const place_list at = places_of(columns);
    for (std::size_t i = 0; i < chosen.size(); ++i)
        if (row_of(chosen[i]) == nullptr)
            return not_there(chosen[i], chosen[i]);
    std::optional<error> failure;
    coupling_matrix matrix =
        coupling_matrix::of_rows(chosen.size(), [&](std::size_t i, std::span<double> numbers) {
            const double* products = places_[at[i]].products.data();
            bool is_there = true;
            for (std::size_t k = 0; k < at.size(); ++k) {
                numbers[k] = products[at[k]];
                is_there = is_there && std::isfinite(numbers[k]);
            }
            for (std::size_t k = 0; !is_there && !failure; ++k)
                if (!std::isfinite(numbers[k]))
                    failure = not_there(chosen[i], columns[k]);
        });
    if (failure)
        return *failure;
    return matrix;
}

// ---- as it is saved ----

gram_cache::contents gram_cache::save() const {
    contents all;
    for (const place& p : places_) {
        all.numbers.push_back(p.column);
        all.numbers.push_back(static_cast<std::int64_t>(p.last_use));
        all.numbers.push_back(p.has_row());
        all.products.insert(all.products.end(), p.products.begin(), p.products.end());
    }
    return all;
}

result<void> gram_cache::load(const contents& saved) {
    const error bad{errc::protocol, "the saved products of columns have other sizes"};
    gram_cache loaded{entries_max_};
    const std::size_t places = saved.numbers.size() / 3;
    loaded.places_.resize(places);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < places; ++i) {
        place& p = loaded.places_[i];
        p.column = narrow(saved.numbers[3 * i]);
        p.last_use = static_cast<std::uint64_t>(saved.numbers[3 * i + 1]);
        if (p.column < 0)
            loaded.free_.push_back(i);
        else if (!loaded.place_of_.emplace(p.column, i).second)
            return bad;
        if (saved.numbers[3 * i + 2] == 0)
            continue;
        if (p.column < 0 || saved.products.size() - begin < places)
            return bad;
        const auto from = saved.products.begin() + static_cast<std::ptrdiff_t>(begin);
        p.products.assign(from, from + static_cast<std::ptrdiff_t>(places));
        begin += places;
        ++loaded.row_count_;
    }
    if (saved.numbers.size() % 3 != 0 || begin != saved.products.size())
        return bad;
    *this = std::move(loaded);
    return {};
}

} // namespace troupe::lasso
