#include "apps/lasso/arriving_columns.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::lasso {

namespace {

constexpr std::size_t zero_rows_at_once = 256;

template <class Builder>
result<void> begin(std::optional<Builder>& builder, memory_pool& memory, matrix_size size) {
    if (builder)
        return {};
    auto made = Builder::make(memory, size);
    if (!made)
        return made.failure();
    builder.emplace(std::move(*made));
    return {};
}

// Null if there is no builder.
template <class Builder>
result<std::unique_ptr<const column_matrix>> finished(std::optional<Builder>& builder) {
    if (!builder)
        return std::unique_ptr<const column_matrix>{};
    auto columns = builder->finish();
    builder.reset();
    if (!columns)
        return columns.failure();
    return std::unique_ptr<const column_matrix>{std::move(*columns)};
}

result<void> append_zeros(dense_columns_builder& to, std::size_t rows, std::size_t columns) {
    const std::vector<float> zeros(std::min(rows, zero_rows_at_once) * columns);
    while (rows > 0) {
        const std::size_t count = std::min(rows, zero_rows_at_once);
        if (auto appended = to.append(count, std::span{zeros}.first(count * columns)); !appended)
            return appended;
        rows -= count;
    }
    return {};
}

result<void> append_zeros(sparse_columns_builder& to, std::size_t rows) {
    const std::vector<std::int64_t> starts(rows + 1);
    return to.append({starts, {}, {}});
}

// Remainders that are not 0 stand at the places of their entries.
result<void> append_remainders(sparse_columns_builder& to, const sparse_rows& rows,
                               std::span<const float> remainders) {
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> columns;
    std::vector<float> values;
    for (std::size_t r = 0; r < rows.rows(); ++r) {
        const auto end = static_cast<std::size_t>(rows.starts[r + 1]);
        for (auto i = static_cast<std::size_t>(rows.starts[r]); i < end; ++i)
            if (remainders[i] != 0) {
                columns.push_back(rows.columns[i]);
                values.push_back(remainders[i]);
            }
        starts.push_back(static_cast<std::int64_t>(values.size()));
    }
    return to.append({starts, columns, values});
}

} // namespace

result<void> arriving_columns::take(std::size_t rows, std::span<const float> values,
                                    std::span<const float> remainders) {
    if (auto begun = begin(dense_, *memory_, size_); !begun)
        return begun;
    if (auto taken = dense_->append(rows, values); !taken)
        return taken;
    const std::size_t before = std::exchange(rows_, rows_ + rows);
    if (remainders.empty())
        return dense_remainders_ ? append_zeros(*dense_remainders_, rows, size_.columns)
                                 : result<void>{};
    if (!dense_remainders_) {
        if (auto begun = begin(dense_remainders_, *memory_, size_); !begun)
            return begun;
        if (auto none = append_zeros(*dense_remainders_, before, size_.columns); !none)
            return none;
    }
    return dense_remainders_->append(rows, remainders);
}

result<void> arriving_columns::take(const sparse_rows& rows, std::span<const float> remainders) {
    if (auto begun = begin(sparse_, *memory_, size_); !begun)
        return begun;
    if (auto taken = sparse_->append(rows); !taken)
        return taken;
    const std::size_t before = std::exchange(rows_, rows_ + rows.rows());
    if (remainders.empty())
        return sparse_remainders_ ? append_zeros(*sparse_remainders_, rows.rows()) : result<void>{};
    if (!sparse_remainders_) {
        if (auto begun = begin(sparse_remainders_, *memory_, size_); !begun)
            return begun;
        if (auto none = append_zeros(*sparse_remainders_, before); !none)
            return none;
    }
    return append_remainders(*sparse_remainders_, rows, remainders);
}

result<split_columns> arriving_columns::finish() {
    auto begun = is_sparse_ ? begin(sparse_, *memory_, size_) : begin(dense_, *memory_, size_);
    if (!begun)
        return begun.failure();
    auto values = is_sparse_ ? finished(sparse_) : finished(dense_);
    if (!values)
        return values.failure();
    auto remainders = is_sparse_ ? finished(sparse_remainders_) : finished(dense_remainders_);
    if (!remainders)
        return remainders.failure();
    return split_columns{std::move(*values), std::move(*remainders)};
}

} // namespace troupe::lasso
