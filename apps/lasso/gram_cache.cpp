#include "apps/lasso/gram_cache.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace troupe::lasso {

namespace {

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

error not_there(std::int64_t row) {
    return {errc::protocol, "products of column " + std::to_string(row) +
                                " with others are needed, but were not asked for"};
}

// Calls f(number, sum) for all products that are not 0 of at least one part, in their order.
template <class Function>
void for_each_sum(std::span<const gram_part> parts, Function f) {
    std::vector<std::size_t> next(parts.size());
    const auto number_at = [&](std::size_t w) {
        const gram_part& part = parts[w];
        if (next[w] >= part.products.size())
            return std::numeric_limits<std::int64_t>::max();
        return part.are_all ? static_cast<std::int64_t>(next[w]) : part.numbers[next[w]];
    };
    while (true) {
        std::int64_t number = std::numeric_limits<std::int64_t>::max();
        for (std::size_t w = 0; w < parts.size(); ++w)
            number = std::min(number, number_at(w));
        if (number == std::numeric_limits<std::int64_t>::max())
            return;
        double sum = 0;
        for (std::size_t w = 0; w < parts.size(); ++w)
            if (number_at(w) == number)
                sum += parts[w].products[next[w]++];
        f(static_cast<std::uint64_t>(number), sum);
    }
}

struct entry_place {
    std::size_t block = 0, row = 0, column = 0; // of the block's lists
    bool is_among = false;                      // the column is one of the rows
};

// The places of the entries of a request, which are passed in order.
class request_walk {
  public:
    explicit request_walk(const gram_request& request) : request_{request} {}

    // The place of the entry of this number, which is no smaller than the one before.
    entry_place at(std::uint64_t number) {
        while (number >= begin_ + request_[block_].entries()) {
            begin_ += request_[block_++].entries();
            row_ = 1;
        }
        const gram_block& block = request_[block_];
        std::uint64_t in_block = number - begin_;
        if (in_block >= block.pairs()) {
            in_block -= block.pairs();
            return {block_, in_block / block.columns.size(), in_block % block.columns.size(),
                    false};
        }
        while (in_block >= std::uint64_t{row_} * (row_ + 1) / 2)
            ++row_;
        return {block_, row_, in_block - std::uint64_t{row_} * (row_ - 1) / 2, true};
    }

  private:
    const gram_request& request_;
    std::size_t block_ = 0;
    std::uint64_t begin_ = 0; // of the block
    std::size_t row_ = 1;     // of the last entry among the block's rows
};

} // namespace

// ---- what is missing ----

gram_request gram_cache::ask(std::span<const std::int64_t> chosen,
                             std::span<const std::int32_t> partners) {
    const place_list columns = places_of(all_of(chosen, partners));
    const place_set needed = set_of(columns);
    place_list new_rows, old_rows;
    for (const std::int64_t j : chosen) {
        const std::size_t row = place_of_.at(narrow(j));
        const bool is_new = needed.count_without(places_[row].known) + 1 == columns.size();
        (is_new ? new_rows : old_rows).push_back(row);
    }
    gram_request request;
    if (!new_rows.empty())
        ask_for(new_rows, columns, true, request);
    // Others that miss the same columns are asked for together.
    std::map<place_list, place_list> alike;
    for (const std::size_t row : old_rows)
        if (place_list missed = needed.without(places_[row].known); !missed.empty())
            alike[std::move(missed)].push_back(row);
    std::vector<const decltype(alike)::value_type*> order;
    for (const auto& group : alike)
        order.push_back(&group);
    // Large groups first. The rest of the order does not depend on where a variable has its place.
    std::ranges::sort(order, [this](const auto* a, const auto* b) {
        return std::pair{b->first.size(), places_[a->second.front()].column} <
               std::pair{a->first.size(), places_[b->second.front()].column};
    });
    for (const auto* group : order)
        ask_for(group->second, group->first, false, request);
    return request;
}

// Rows that miss the same columns, as far as no earlier block has asked for them.
void gram_cache::ask_for(const place_list& rows, const place_list& columns, bool is_among,
                         gram_request& request) {
    gram_block block;
    block.is_among = is_among;
    const place_set all_rows = set_of(rows);
    for (const std::size_t row : rows) {
        block.rows.push_back(places_[row].column);
        if (is_among)
            places_[row].known |= all_rows;
    }
    place_list missed;
    for (const std::size_t column : columns)
        if (!places_[rows.front()].known.contains(column))
            missed.push_back(column);
    const place_set all_columns = set_of(missed);
    for (const std::size_t row : rows)
        places_[row].known |= all_columns;
    for (const std::size_t column : missed) {
        if (places_[column].has_row)
            places_[column].known |= all_rows;
        block.columns.push_back(places_[column].column);
    }
    std::ranges::sort(block.columns);
    if (block.entries() > 0)
        request.push_back(std::move(block));
}

place_set gram_cache::set_of(const place_list& places) const {
    place_set set;
    for (const std::size_t at : places)
        set.insert(at);
    return set;
}

// places_.size() for columns that have none.
gram_cache::place_list gram_cache::places_of(std::span<const std::int32_t> columns) const {
    place_list places;
    places.reserve(columns.size());
    for (const std::int32_t column : columns) {
        const auto found = place_of_.find(column);
        places.push_back(found == place_of_.end() ? places_.size() : found->second);
    }
    return places;
}

// ---- what has come ----

bool gram_cache::keep(const gram_request& request, std::span<const gram_part> parts,
                      const std::function<double(std::int32_t)>& scale) {
    std::vector<sides> blocks;
    for (const gram_block& block : request)
        blocks.push_back(sides_of(block, scale));
    bool are_numbers = true;
    const auto put = [&](const sides& s, const entry_place& e, double sum) {
        are_numbers = are_numbers && std::isfinite(sum);
        if (sum == 0)
            return;
        const auto& others = e.is_among ? s.rows : s.columns;
        const auto& scales = e.is_among ? s.row_scales : s.column_scales;
        store(s.rows[e.row], others[e.column], sum / (s.row_scales[e.row] * scales[e.column]));
    };
    const auto is_dense = [](const gram_part& part) { return part.are_all; };
    if (!std::ranges::all_of(parts, is_dense)) {
        request_walk walk{request};
        for_each_sum(parts, [&](std::uint64_t number, double sum) {
            const entry_place e = walk.at(number);
            put(blocks[e.block], e, sum);
        });
        return are_numbers;
    }
    std::size_t next = 0;
    const auto sum = [&] {
        double all = 0;
        for (const gram_part& part : parts)
            all += part.products[next];
        ++next;
        return all;
    };
    for (std::size_t b = 0; b < blocks.size() && !parts.empty(); ++b) {
        const std::size_t rows = blocks[b].rows.size(), columns = blocks[b].columns.size();
        for (std::size_t i = 0; request[b].is_among && i < rows; ++i)
            for (std::size_t k = 0; k < i; ++k)
                put(blocks[b], {b, i, k, true}, sum());
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0; k < columns; ++k)
                put(blocks[b], {b, i, k, false}, sum());
    }
    return are_numbers;
}

// Where the rows and columns of a block are. Counts its products as known.
gram_cache::sides gram_cache::sides_of(const gram_block& block,
                                       const std::function<double(std::int32_t)>& scale) {
    sides s{places_of(block.rows), places_of(block.columns), {}, {}};
    std::ranges::transform(block.rows, std::back_inserter(s.row_scales), scale);
    std::ranges::transform(block.columns, std::back_inserter(s.column_scales), scale);
    const auto count = [this](const place_list& places) {
        return static_cast<double>(std::ranges::count_if(
            places, [this](std::size_t at) { return at < places_.size() && places_[at].has_row; }));
    };
    known_products_ += count(s.rows) * static_cast<double>(block.columns.size()) +
                       count(s.columns) * static_cast<double>(block.rows.size()) +
                       2 * static_cast<double>(block.pairs());
    return s;
}

void gram_cache::store(std::size_t row, std::size_t column, double product) {
    if (row >= places_.size() || column >= places_.size())
        return;
    const auto put = [&](place& p, std::size_t at) {
        if (!p.has_row)
            return;
        p.places.push_back(static_cast<std::uint32_t>(at));
        p.products.push_back(product);
        ++stored_;
    };
    put(places_[row], column);
    if (row != column)
        put(places_[column], row);
}

void gram_cache::put_square(std::int64_t variable, double square) {
    const std::size_t at = place_of_.at(narrow(variable));
    if (places_[at].known.contains(at))
        return;
    places_[at].known.insert(at);
    known_products_ += 1;
    store(at, at, square);
}

// ---- what is there ----

bool gram_cache::knows_all(std::size_t row, const place_set& columns) const {
    return row < places_.size() && places_[row].has_row &&
           columns.count_without(places_[row].known) == 0;
}

result<std::vector<double>> gram_cache::gather(std::span<const std::int64_t> rows,
                                               std::span<const std::int32_t> columns) const {
    const place_list at = places_of(columns);
    const place_set needed = set_of(at);
    std::vector<double> all(places_.size() + 1), entries;
    entries.reserve(rows.size() * columns.size());
    for (const std::int64_t j : rows) {
        const std::size_t row = places_of(std::array{narrow(j)}).front();
        if (!knows_all(row, needed))
            return not_there(j);
        const place& p = places_[row];
        for (std::size_t e = 0; e < p.places.size(); ++e)
            all[p.places[e]] = p.products[e];
        for (const std::size_t column : at)
            entries.push_back(all[column]);
        for (const std::uint32_t place : p.places)
            all[place] = 0;
    }
    return entries;
}

result<std::vector<double>> gram_cache::sums_of(std::span<const std::int64_t> rows,
                                                std::span<const std::int32_t> columns,
                                                std::span<const double> factors) const {
    const place_list at = places_of(columns);
    const place_set needed = set_of(at);
    std::vector<double> of_places(places_.size() + 1), sums;
    for (std::size_t i = 0; i < at.size(); ++i)
        of_places[at[i]] += factors[i];
    for (const std::int64_t j : rows) {
        const std::size_t row = places_of(std::array{narrow(j)}).front();
        if (!knows_all(row, needed))
            return not_there(j);
        const place& p = places_[row];
        double sum = 0;
        for (std::size_t e = 0; e < p.places.size(); ++e)
            sum += p.products[e] * of_places[p.places[e]];
        sums.push_back(sum);
    }
    return sums;
}

result<coupling_matrix> gram_cache::among(std::span<const std::int64_t> chosen) const {
    std::vector<std::int32_t> columns;
    std::ranges::transform(chosen, std::back_inserter(columns), narrow);
    const place_list at = places_of(columns);
    const place_set needed = set_of(at);
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> order(places_.size() + 1, none); // of the chosen, by their places
    for (std::size_t i = 0; i < at.size(); ++i)
        order[at[i]] = static_cast<std::uint32_t>(i);
    std::size_t products = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
        if (!knows_all(at[i], needed))
            return not_there(chosen[i]);
        products += static_cast<std::size_t>(std::ranges::count_if(
            places_[at[i]].places, [&](std::uint32_t place) { return order[place] != none; }));
    }
    coupling_matrix_builder builder{chosen.size(), products};
    for (const std::size_t row : at) {
        const place& p = places_[row];
        for (std::size_t e = 0; e < p.places.size(); ++e)
            if (order[p.places[e]] != none)
                builder.add(order[p.places[e]], p.products[e]);
        builder.end_row();
    }
    return std::move(builder).finish();
}

} // namespace troupe::lasso
