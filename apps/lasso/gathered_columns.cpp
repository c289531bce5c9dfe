#include "apps/lasso/gathered_columns.hpp"

#include <algorithm>
#include <array>
#include <string>

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

gathered_columns::contents gathered_columns::save() const {
    contents saved;
    for (const auto& [column, at] : places_)
        saved.columns.push_back(column);
    std::ranges::sort(saved.columns);
    saved.starts.push_back(0);
    for (const std::int32_t column : saved.columns) {
        const place& at = places_.at(column);
        const sparse_column entries = batches_[at.batch]->column(at.at);
        saved.row_numbers.insert(saved.row_numbers.end(), entries.rows.begin(), entries.rows.end());
        saved.values.insert(saved.values.end(), entries.values.begin(), entries.values.end());
        saved.starts.push_back(static_cast<std::int64_t>(saved.values.size()));
    }
    return saved;
}

result<void> gathered_columns::load(const contents& saved, std::uint64_t columns) {
    clear();
    const auto is_outside = [&](std::int32_t j) {
        return j < 0 || static_cast<std::uint64_t>(j) >= columns;
    };
    if (std::ranges::any_of(saved.columns, is_outside) ||
        std::ranges::adjacent_find(saved.columns, std::ranges::greater_equal{}) !=
            saved.columns.end())
        return error{errc::protocol, "the saved columns are not columns of the matrix, each once"};
    return keep(saved.columns,
                std::array{column_entries{rows_, saved.starts, saved.row_numbers, saved.values}});
}

} // namespace troupe::lasso
