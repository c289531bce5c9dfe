#include "apps/lasso/gathered_columns.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "actors/scheduled/filled_state.hpp"
#include "actors/scheduled/named_numbers.hpp"
#include "kernels/columns/sparse_columns.hpp"

namespace troupe::lasso {

std::vector<std::int32_t> gathered_columns::missing(std::span<const std::int32_t> columns) const {
    std::vector<std::int32_t> missing;
    std::ranges::copy_if(columns, std::back_inserter(missing),
                         [this](std::int32_t column) { return !places_.contains(column); });
    std::ranges::sort(missing);
    missing.erase(std::ranges::unique(missing).begin(), missing.end());
    return missing;
}

result<void> gathered_columns::keep(std::span<const std::int32_t> columns,
                                    std::span<const column_entries> parts) {
    if (columns.empty())
        return {};
    std::size_t rows = 0;
    for (const column_entries& part : parts) {
        rows += part.rows;
        if (part.starts.size() != columns.size() + 1)
            return error{errc::protocol, "a worker has sent other columns than it was asked for"};
    }
    if (rows != rows_)
        return error{errc::protocol, "the columns that workers have sent have " +
                                         std::to_string(rows) + " rows instead of " +
                                         std::to_string(rows_)};
    auto batch = sparse_columns::stacked(*pool_, parts);
    if (!batch)
        return batch.failure();
    for (std::size_t i = 0; i < columns.size(); ++i)
        places_[columns[i]] = {batches_.size(), i};
    entries_ += (*batch)->all_entries();
    batches_.push_back(std::move(*batch));
    return {};
}

void gathered_columns::clear() {
    batches_.clear();
    places_.clear();
    entries_ = 0;
}

result<std::vector<gathered_column>>
gathered_columns::find(std::span<const std::int32_t> columns,
                       const std::function<double(std::int32_t)>& scale) const {
    std::vector<gathered_column> found;
    for (const std::int32_t column : columns) {
        const auto at = places_.find(column);
        if (at == places_.end())
            return error{errc::protocol,
                         "column " + std::to_string(column) + " is needed, but was not asked for"};
        found.emplace_back(*batches_[at->second.batch], at->second.at, scale(column));
    }
    return found;
}

result<void> gathered_columns::save(memory_pool& memory, scheduled::saved_part& to) const {
    std::vector<std::int32_t> columns;
    for (const auto& [column, at] : places_)
        columns.push_back(column);
    std::ranges::sort(columns);
    std::vector<std::int64_t> starts{0};
    // Calls f(entries) for each, in this order.
    const auto for_each = [&](auto f) {
        for (const std::int32_t column : columns) {
            const place& at = places_.at(column);
            f(batches_[at.batch]->column(at.at));
        }
    };
    for_each([&](const sparse_column& entries) {
        starts.push_back(starts.back() + static_cast<std::int64_t>(entries.values.size()));
    });
    const auto count = static_cast<std::size_t>(starts.back());
    const auto rows = [&](std::span<std::int32_t> numbers) {
        for_each(
            [at = numbers](const sparse_column& entries) mutable { at = entries.rows.copy(at); });
    };
    const auto values = [&](std::span<float> numbers) {
        for_each([at = numbers.begin()](const sparse_column& entries) mutable {
            at = std::ranges::copy(entries.values, at).out;
        });
    };
    using namespace scheduled;
    for (const auto& appended :
         {append_state(memory, "gathered columns", std::span<const std::int32_t>{columns}, to),
          append_state(memory, "gathered starts", std::span<const std::int64_t>{starts}, to),
          append_filled<std::int32_t>(memory, "gathered rows", count, rows, to),
          append_filled<float>(memory, "gathered values", count, values, to)})
        if (!appended)
            return appended.failure();
    return {};
}

result<void> gathered_columns::load(const scheduled::saved_part& saved, std::uint64_t columns) {
    const auto numbers = scheduled::read_state<std::int32_t>(saved, "gathered columns");
    const auto starts = scheduled::read_state<std::int64_t>(saved, "gathered starts");
    const auto row_numbers = scheduled::read_state<std::int32_t>(saved, "gathered rows");
    const auto values = scheduled::read_state<float>(saved, "gathered values");
    if (const error* failure = scheduled::first_failure(numbers, starts, row_numbers, values))
        return *failure;
    clear();
    const auto is_outside = [&](std::int32_t j) {
        return j < 0 || static_cast<std::uint64_t>(j) >= columns;
    };
    if (std::ranges::any_of(*numbers, is_outside) ||
        std::ranges::adjacent_find(*numbers, std::ranges::greater_equal{}) != numbers->end())
        return error{errc::protocol, "the saved columns are not columns of the matrix, each once"};
    return keep(*numbers, std::array{column_entries{rows_, *starts, *row_numbers, *values}});
}

} // namespace troupe::lasso
