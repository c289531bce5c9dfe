#include "apps/lasso/messages.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include "apps/lasso/lasso_limits.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::lasso {

using scheduled::first_failure;
using scheduled::payload_of;
using scheduled::read;

namespace {

constexpr std::size_t judgement_numbers = 13, row_numbers = 9;

result<void> check_columns(std::span<const std::int32_t> columns, std::uint64_t count,
                           const char* what) {
    const auto is_outside = [&](std::int32_t j) {
        return j < 0 || static_cast<std::uint64_t>(j) >= count;
    };
    if (std::ranges::any_of(columns, is_outside))
        return error{errc::protocol, std::string{what} + ": a column that the matrix has not"};
    return {};
}

bool are_finite(std::span<const double> numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
}

// Finite and not negative.
bool are_sizes(std::span<const double> numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x) && x >= 0; });
}

result<void> add_tensor(payload& to, memory_pool& memory, data_type type, std::size_t count) {
    auto made = tensor::allocate(memory, type, {count});
    if (!made)
        return made.failure();
    to.push_back(std::move(*made));
    return {};
}

// Whether the first `in_use` columns rise, and so do the others, and all are different and of this range.
bool are_listed_once(std::span<const std::int32_t> columns, std::size_t in_use,
                     const scheduled::number_range& own) {
    const auto is_own = [&](std::int32_t j) {
        return j >= 0 && static_cast<std::uint64_t>(j) >= own.first &&
               static_cast<std::uint64_t>(j) - own.first < own.count;
    };
    const auto used = columns.first(in_use), others = columns.subspan(in_use);
    const auto rises = [](std::span<const std::int32_t> part) {
        return std::ranges::adjacent_find(part, std::ranges::greater_equal{}) == part.end();
    };
    return std::ranges::all_of(columns, is_own) && rises(used) && rises(others) &&
           std::ranges::none_of(
               others, [&](std::int32_t j) { return std::ranges::binary_search(used, j); });
}

} // namespace

// ---- phases that update ----

result<payload> to_payload(memory_pool& memory, const update_request& request) {
    std::vector<std::int64_t> sizes;
    std::vector<std::int32_t> columns;
    for (const gram_block& block : request.gram) {
        sizes.push_back(static_cast<std::int64_t>(block.rows.size()));
        sizes.push_back(static_cast<std::int64_t>(block.columns.size()));
        sizes.push_back(block.is_among);
        columns.insert(columns.end(), block.rows.begin(), block.rows.end());
        columns.insert(columns.end(), block.columns.begin(), block.columns.end());
    }
    return payload_of(
        memory, request.chosen, sizes, columns,
        std::array{std::int32_t{request.with_products}, std::int32_t{request.by_columns}},
        request.columns);
}

std::string describe_update(const payload& request) {
    constexpr std::size_t shown = 8;
    const auto chosen = read<std::int32_t>(request, 0, "the chosen variables");
    if (!chosen)
        return chosen.failure().message();
    std::string text = counted(chosen->size(), "variable");
    const auto first = chosen->first(std::min(shown, chosen->size()));
    for (std::size_t i = 0; i < first.size(); ++i)
        text += (i == 0 ? ": " : " ") + std::to_string(first[i]);
    return chosen->size() > shown ? text + " ..." : text;
}

std::string refused_text(double correlation) {
    char text[64];
    std::snprintf(text, sizeof text, "; refused before: correlation %.2f", correlation);
    return correlation > 0 ? text : "";
}

result<update_request> read_update_request(const payload& p, std::uint64_t columns) {
    const auto chosen = read<std::int32_t>(p, 0, "the chosen columns of a phase");
    const auto sizes = read<std::int64_t>(p, 1, "the blocks of products of a phase");
    const auto all = read<std::int32_t>(p, 2, "the columns of products of a phase");
    const auto flags = read<std::int32_t>(p, 3, 2, "the flags of a phase");
    const auto gathered = read<std::int32_t>(p, 4, "the columns that a phase asks for");
    if (const error* failure = first_failure(chosen, sizes, all, flags, gathered))
        return *failure;
    for (const auto list : {*chosen, *all, *gathered})
        if (auto known = check_columns(list, columns, "a phase"); !known)
            return known.failure();
    update_request request{{chosen->begin(), chosen->end()},
                           flags->front() != 0,
                           {},
                           flags->back() != 0,
                           {gathered->begin(), gathered->end()}};
    if (!request.by_columns && !request.columns.empty())
        return error{errc::protocol, "a phase asks for columns and for products of columns"};
    std::span<const std::int32_t> rest = *all;
    const auto take = [&](std::int64_t count, std::vector<std::int32_t>& to) {
        if (count < 0 || static_cast<std::uint64_t>(count) > rest.size())
            return false;
        const auto part = rest.first(static_cast<std::size_t>(count));
        to.assign(part.begin(), part.end());
        rest = rest.subspan(part.size());
        return true;
    };
    std::uint64_t entries = 0;
    for (std::size_t i = 0; i + 2 < sizes->size(); i += 3) {
        gram_block& block = request.gram.emplace_back();
        if (!take((*sizes)[i], block.rows) || !take((*sizes)[i + 1], block.columns))
            return error{errc::protocol, "the blocks of products of a phase have other sizes"};
        block.is_among = (*sizes)[i + 2] != 0;
        entries += block.entries();
        if (entries > limits::phase_pairs_max)
            return error{errc::protocol, "a phase asks for more products than a phase may"};
    }
    return request;
}

result<payload> to_payload(memory_pool& memory, const update_partial& partial) {
    const std::array numbers{partial.residual_sum, 0.0};
    return payload_of(memory, partial.products, numbers, partial.gram.products,
                      partial.gram.numbers, std::array{std::int32_t{partial.gram.are_all}});
}

result<columns_answer> make_columns_answer(memory_pool& memory, const update_partial& without,
                                           columns_answer_size size) {
    auto made =
        payload_of(memory, without.products,
                   std::array{without.residual_sum, static_cast<double>(without.columns.rows)});
    if (!made)
        return made.failure();
    columns_answer answer{std::move(*made), {}, {}, {}};
    for (const auto& [type, count] :
         {std::pair{data_type::int64, size.columns + 1}, std::pair{data_type::int32, size.entries},
          std::pair{data_type::float32, size.entries}})
        if (auto added = add_tensor(answer.made, memory, type, count); !added)
            return added.failure();
    answer.starts = answer.made[2].mutable_values<std::int64_t>();
    answer.row_numbers = answer.made[3].mutable_values<std::int32_t>();
    answer.values = answer.made[4].mutable_values<float>();
    return answer;
}

namespace {

result<update_partial> read_columns(const payload& p, const update_request& request,
                                    update_partial partial) {
    const auto starts =
        read<std::int64_t>(p, 2, request.columns.size() + 1, "the starts of a worker's columns");
    const auto row_numbers = read<std::int32_t>(p, 3, "the rows of a worker's columns");
    const auto values = read<float>(p, 4, "the values of a worker's columns");
    if (const error* failure = first_failure(starts, row_numbers, values))
        return *failure;
    partial.columns.starts = *starts;
    partial.columns.row_numbers = *row_numbers;
    partial.columns.values = *values;
    return partial;
}

} // namespace

result<update_partial> read_update_partial(const payload& p, const update_request& request) {
    const std::size_t chosen = request.with_products ? request.chosen.size() : 0;
    const auto products = read<double>(p, 0, chosen, "a worker's products with the residual");
    const auto sums = read<double>(p, 1, 2, "a worker's sum of the residual, and its rows");
    if (const error* failure = first_failure(products, sums))
        return *failure;
    if (!(sums->back() >= 0 &&
          sums->back() <= static_cast<double>(troupe::limits::matrix_rows_max)))
        return error{errc::protocol, "a worker says that it has so many rows as no worker has"};
    update_partial partial{
        *products, sums->front(), {}, {static_cast<std::size_t>(sums->back()), {}, {}, {}}};
    if (request.by_columns)
        return read_columns(p, request, partial);
    const auto gram = read<double>(p, 2, "a worker's products of columns");
    const auto numbers = read<std::int64_t>(p, 3, "the numbers of a worker's products");
    const auto flags = read<std::int32_t>(p, 4, 1, "the flags of a worker's products");
    if (const error* failure = first_failure(gram, numbers, flags))
        return *failure;
    const std::uint64_t entries = entries_of(request.gram);
    const bool are_all = flags->front() != 0;
    std::int64_t last = -1;
    bool do_rise = true;
    for (const std::int64_t number : *numbers) {
        do_rise = do_rise && number > last;
        last = number;
    }
    if (gram->size() != (are_all ? entries : numbers->size()) || !do_rise ||
        (last >= 0 && static_cast<std::uint64_t>(last) >= entries))
        return error{errc::protocol, "a worker's products of columns are not those asked for"};
    partial.gram = {*gram, *numbers, are_all};
    return partial;
}

result<payload> to_payload(memory_pool& memory, const changes& c) {
    return payload_of(memory, c.columns, c.deltas, c.before,
                      std::array{c.updated, c.shift, c.decrease, c.gap});
}

result<changes> read_changes(const payload& p, std::uint64_t columns) {
    const auto changed = read<std::int32_t>(p, 0, "the changed columns of a phase");
    const std::size_t count = changed ? changed->size() : 0;
    const auto deltas = read<double>(p, 1, count, "the changes of a phase");
    const auto before = read<double>(p, 2, count, "the coefficients before a phase");
    const auto numbers = read<double>(p, 3, 4, "the numbers of a phase");
    if (const error* failure = first_failure(changed, deltas, before, numbers))
        return *failure;
    if (auto known = check_columns(*changed, columns, "the changes of a phase"); !known)
        return known.failure();
    const auto& n = *numbers;
    if (!(n[0] >= 0 && n[0] <= static_cast<double>(columns)))
        return error{errc::protocol, "a phase has updated more columns than there are"};
    if (!are_finite(*deltas) || !are_finite(*before) || !are_finite(n.subspan(1, 2)) ||
        std::isnan(n[3]))
        return error{errc::protocol, "the changes of a phase are no numbers"};
    return changes{*changed, *deltas, *before, n[0], n[1], n[2], n[3]};
}

// ---- probes ----

result<payload> to_payload(memory_pool& memory, const probe_request& request) {
    return payload_of(memory, std::array{std::int32_t{request.with_facts}});
}

result<probe_request> read_probe_request(const payload& p) {
    const auto flags = read<std::int32_t>(p, 0, 1, "the content of a probe");
    if (!flags)
        return flags.failure();
    return probe_request{flags->front() != 0};
}

result<probe_tensors> make_probe_tensors(memory_pool& memory, const probe_sizes& sizes) {
    auto products = tensor::allocate(memory, data_type::float64, {sizes.columns});
    auto sums = tensor::allocate(memory, data_type::float64, {sizes.sums()});
    auto squares = tensor::allocate(memory, data_type::float64, {sizes.squares()});
    auto entries = tensor::allocate(memory, data_type::int32, {sizes.entries()});
    if (const error* failure = first_failure(products, sums, squares, entries))
        return *failure;
    return probe_tensors{std::move(*products), std::move(*sums), std::move(*squares),
                         std::move(*entries)};
}

result<payload> to_payload(memory_pool& memory, const probe_partial& numbers,
                           probe_tensors tensors) {
    const row_sums& r = numbers.rows;
    auto made =
        payload_of(memory, std::array<double, row_numbers>{
                               r.weight, r.residual_sum, r.residual_square, r.loss, r.intercept,
                               r.zeros, r.minus, r.ones, numbers.has_exact_products ? 1.0 : 0.0});
    if (!made)
        return made.failure();
    return payload{std::move(tensors.products), std::move(made->front()), std::move(tensors.sums),
                   std::move(tensors.squares), std::move(tensors.entries)};
}

result<probe_partial> read_probe_partial(const payload& p, const probe_sizes& sizes) {
    const auto products =
        read<double>(p, 0, sizes.columns, "a worker's products with the residual");
    const auto numbers = read<double>(p, 1, row_numbers, "a worker's numbers of a probe");
    const auto sums = read<double>(p, 2, sizes.sums(), "a worker's sums of columns");
    const auto squares = read<double>(p, 3, sizes.squares(), "a worker's squares of columns");
    const auto entries =
        read<std::int32_t>(p, 4, sizes.entries(), "a worker's numbers of entries of columns");
    if (const error* failure = first_failure(products, numbers, sums, squares, entries))
        return *failure;
    if (std::ranges::any_of(*entries, [](std::int32_t n) { return n < 0; }))
        return error{errc::protocol, "a worker's numbers of entries are not of the columns"};
    const auto& n = *numbers;
    return probe_partial{{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]},
                         *products,
                         *sums,
                         *squares,
                         *entries,
                         n[8] != 0};
}

result<payload> to_payload(memory_pool& memory, const judgement& j) {
    const std::array<double, judgement_numbers> numbers{j.fit.residual_square,
                                                        j.dual_norm,
                                                        j.absolute,
                                                        j.square,
                                                        j.product,
                                                        j.used,
                                                        j.mean_value,
                                                        static_cast<double>(j.in_use),
                                                        j.fit.loss,
                                                        j.fit.weight,
                                                        j.fit.shift,
                                                        j.fit.intercept,
                                                        j.constant};
    return payload_of(memory, numbers, j.columns, j.gradients, j.means, j.squares, j.scales,
                      j.entries);
}

result<judgement> read_judgement(const payload& p, const scheduled::number_range& own) {
    const auto numbers = read<double>(p, 0, judgement_numbers, "the numbers of a judgement");
    const auto listed = read<std::int32_t>(p, 1, "the columns of a judgement");
    const std::size_t count = listed ? listed->size() : 0;
    const auto gradients = read<double>(p, 2, count, "the gradients of a judgement");
    const auto means = read<double>(p, 3, count, "the means of a judgement");
    const auto squares = read<double>(p, 4, count, "the squares of a judgement");
    const auto scales = read<double>(p, 5, "the scales of a judgement");
    const auto entries = read<double>(p, 6, "the numbers of entries of a judgement");
    if (const error* failure =
            first_failure(numbers, listed, gradients, means, squares, scales, entries))
        return *failure;
    const auto& n = *numbers;
    const auto is_scale = [](double x) { return std::isfinite(x) && x > 0; };
    if ((!scales->empty() && scales->size() != count) || !std::ranges::all_of(*scales, is_scale))
        return error{errc::protocol, "the scales of a judgement are not of its columns"};
    if ((!entries->empty() && entries->size() != count) || !are_sizes(*entries))
        return error{errc::protocol,
                     "the numbers of entries of a judgement are not of its columns"};
    if (!are_finite(n) || !are_finite(*means) || !are_sizes(*gradients) || !are_sizes(*squares))
        return error{errc::protocol, "the numbers of a judgement are none, or negative"};
    if (!(n[5] >= 0 && n[12] >= 0 && n[5] + n[12] <= static_cast<double>(own.count)))
        return error{errc::protocol, "a judgement counts more variables than its scheduler has"};
    if (!(n[7] >= 0 && n[7] <= static_cast<double>(count)))
        return error{errc::protocol, "a judgement counts more columns in use than it lists"};
    if (!are_listed_once(*listed, static_cast<std::size_t>(n[7]), own))
        return error{errc::protocol,
                     "a judgement lists a column twice, out of order, or of another scheduler"};
    return judgement{{n[0], n[8], n[9], n[10], n[11]},
                     n[1],
                     n[2],
                     n[3],
                     n[4],
                     n[5],
                     n[12],
                     n[6],
                     static_cast<std::size_t>(n[7]),
                     *listed,
                     *gradients,
                     *means,
                     *squares,
                     *scales,
                     *entries};
}

} // namespace troupe::lasso
