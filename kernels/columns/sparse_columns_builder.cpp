#include <algorithm>
#include <string>
#include <utility>

#include "kernels/columns/builder_checks.hpp"
#include "kernels/columns/sparse_columns.hpp"

namespace troupe {

namespace {

// Columns of a range: their numbers in it are two bytes.
constexpr std::size_t range_columns = 1u << 16;
// Capacity of a chunk: the first one of a list has few, each other twice as many as the one before.
constexpr std::size_t chunk_min = 1u << 8, chunk_max = 1u << 19;

constexpr std::size_t size_of_chunk(std::size_t chunk) noexcept {
    constexpr std::size_t doublings = 11;
    static_assert(chunk_min << doublings == chunk_max);
    return chunk_min << std::min(chunk, doublings);
}

template <class T>
T* typed(const buffer_ref& memory) noexcept {
    return reinterpret_cast<T*>(memory->data());
}

} // namespace

// The entries of some columns, row by row, in chunks: values, then columns; and in others the rows that have any. A pool of
// its own, which keeps nothing when it ends.
class sparse_columns_builder::column_range {
  public:
    explicit column_range(std::uint64_t bytes_max) : pool_{bytes_max} {}

    // Appends the entries of one row.
    result<void> append(std::int32_t row, std::span<const std::int32_t> columns,
                        std::span<const float> values, room& left) {
        if (auto has = make_room(rows_, left); !has)
            return has;
        rows_of(rows_.last())[rows_.filled++] = {row, static_cast<std::int32_t>(columns.size())};
        while (!columns.empty()) {
            if (auto has = make_room(entries_, left); !has)
                return has;
            const std::size_t last = entries_.last();
            const std::size_t count =
                std::min(columns.size(), size_of_chunk(last) - entries_.filled);
            std::copy_n(values.data(), count, values_of(last) + entries_.filled);
            std::transform(columns.data(), columns.data() + count,
                           columns_of(last) + entries_.filled,
                           [](std::int32_t column) { return static_cast<std::uint16_t>(column); });
            entries_.filled += count;
            columns = columns.subspan(count);
            values = values.subspan(count);
        }
        return {};
    }

    // Calls f(row, column in the range, value) in the order of the rows.
    template <class Function>
    void for_each(Function f) const {
        std::size_t chunk = 0, at = 0;
        for (std::size_t r = 0; r < rows_.chunks.size(); ++r)
            for (const auto& [row, count] : std::span{rows_of(r), rows_.filled_of(r)})
                for (std::int32_t e = 0; e < count; ++e, ++at) {
                    if (at == size_of_chunk(chunk)) {
                        ++chunk;
                        at = 0;
                    }
                    f(row, columns_of(chunk)[at], values_of(chunk)[at]);
                }
    }

  private:
    struct row_entries {
        std::int32_t row, count;
    };

    struct chunk_list {
        std::size_t bytes_each;
        std::vector<buffer_ref> chunks{};
        std::size_t filled = 0; // of the last one

        std::size_t last() const { return chunks.size() - 1; }
        std::size_t filled_of(std::size_t chunk) const {
            return chunk == last() ? filled : size_of_chunk(chunk);
        }
    };

    row_entries* rows_of(std::size_t chunk) const {
        return typed<row_entries>(rows_.chunks[chunk]);
    }
    float* values_of(std::size_t chunk) const { return typed<float>(entries_.chunks[chunk]); }
    std::uint16_t* columns_of(std::size_t chunk) const {
        return reinterpret_cast<std::uint16_t*>(values_of(chunk) + size_of_chunk(chunk));
    }

    // For one more.
    result<void> make_room(chunk_list& in, room& left) {
        if (!in.chunks.empty() && in.filled < size_of_chunk(in.last()))
            return {};
        const std::size_t bytes = size_of_chunk(in.chunks.size()) * in.bytes_each;
        if (auto has = left.check(bytes); !has)
            return has;
        auto taken = pool_.allocate(bytes);
        if (!taken)
            return taken.failure().in("the entries of a matrix");
        left.held += (*taken)->capacity();
        in.chunks.push_back(std::move(*taken));
        in.filled = 0;
        return {};
    }

    memory_pool pool_;
    chunk_list rows_{sizeof(row_entries)};
    chunk_list entries_{sizeof(float) + sizeof(std::uint16_t)};
};

sparse_columns_builder::sparse_columns_builder(memory_pool& pool, matrix_size size)
    : left_{&pool}, size_{size}, ranges_((size.columns + range_columns - 1) / range_columns) {}

sparse_columns_builder::sparse_columns_builder(sparse_columns_builder&&) noexcept = default;
sparse_columns_builder::~sparse_columns_builder() = default;

result<sparse_columns_builder> sparse_columns_builder::make(memory_pool& pool, matrix_size size) {
    if (auto allowed = columns::check_size(size); !allowed)
        return allowed.failure();
    return sparse_columns_builder{pool, size};
}

result<void> sparse_columns_builder::take_row(const sparse_rows& rows, std::size_t i) {
    auto begin = static_cast<std::size_t>(rows.starts[i]);
    const auto end = static_cast<std::size_t>(rows.starts[i + 1]);
    while (begin < end) {
        const std::size_t range = static_cast<std::size_t>(rows.columns[begin]) / range_columns;
        const auto past = static_cast<std::int64_t>((range + 1) * range_columns);
        const auto* const first = rows.columns.data() + begin;
        const auto* const last = std::lower_bound(first, rows.columns.data() + end, past);
        const auto count = static_cast<std::size_t>(last - first);
        if (!ranges_[range])
            ranges_[range] = std::make_unique<column_range>(left_.pool->bytes_max());
        if (auto taken = ranges_[range]->append(static_cast<std::int32_t>(rows_ + i),
                                                rows.columns.subspan(begin, count),
                                                rows.values.subspan(begin, count), left_);
            !taken)
            return taken;
        begin += count;
        entries_ += count;
    }
    return {};
}

result<void> sparse_columns_builder::room::check(std::size_t bytes) const {
    const std::uint64_t in_use = pool->statistics().bytes_in_use + held;
    if (in_use + bytes <= pool->bytes_max())
        return {};
    return error{errc::exhausted,
                 "the entries of a matrix: out of device memory: " + std::to_string(bytes) +
                     " bytes wanted, " + std::to_string(in_use) + " of " +
                     std::to_string(pool->bytes_max()) + " in use"};
}

result<void> sparse_columns_builder::append(const sparse_rows& rows) {
    if (auto fits = columns::check_rows(size_, rows_, rows.rows()); !fits)
        return fits;
    if (auto good = check_rows(rows, {rows_, size_.columns}); !good)
        return good;
    for (std::size_t i = 0; i < rows.rows(); ++i)
        if (auto taken = take_row(rows, i); !taken)
            return taken;
    rows_ += rows.rows();
    return {};
}

result<std::unique_ptr<const sparse_columns>> sparse_columns_builder::finish() {
    if (auto complete = columns::check_complete(size_, rows_); !complete)
        return complete.failure();
    auto memory = sparse_memory::allocate(*left_.pool, size_, entries_);
    if (!memory)
        return memory.failure();
    memory->with_rows(size_.rows, [&](auto* row_numbers) { move_entries(*memory, row_numbers); });
    return std::unique_ptr<const sparse_columns>{new sparse_columns{size_, std::move(*memory)}};
}

template <class Row>
void sparse_columns_builder::move_entries(const sparse_memory& to, Row* row_numbers) {
    auto* const starts = typed<std::int64_t>(to.starts);
    auto* const values = typed<float>(to.values);
    starts[0] = 0;
    for (std::size_t r = 0; r < ranges_.size(); ++r) {
        const std::size_t first = r * range_columns;
        const std::size_t count = std::min(range_columns, size_.columns - first);
        std::vector<std::int64_t> next(count + 1);
        if (ranges_[r])
            ranges_[r]->for_each(
                [&](std::int32_t, std::uint16_t column, float) { ++next[column + 1u]; });
        next[0] = starts[first];
        for (std::size_t j = 0; j < count; ++j)
            starts[first + j + 1] = next[j + 1] += next[j];
        if (ranges_[r])
            ranges_[r]->for_each([&](std::int32_t row, std::uint16_t column, float value) {
                const auto at = static_cast<std::size_t>(next[column]++);
                row_numbers[at] = static_cast<Row>(row);
                values[at] = value;
            });
        ranges_[r].reset(); // its memory is needed for what follows
    }
}

} // namespace troupe
