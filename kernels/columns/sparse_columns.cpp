#include "kernels/columns/sparse_columns.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/cpu/fastest_loops.hpp"

namespace troupe {

using columns::left_columns_max;

namespace {

template <class T>
T* as(const buffer_ref& memory) noexcept {
    return reinterpret_cast<T*>(memory->data());
}

constexpr std::size_t right_columns_at_once = 1024; // whose sums are a small part of the workspace

column_list part_of(column_list list, std::size_t first, std::size_t count) {
    if (list.numbers == nullptr)
        return {nullptr, list.first + first, count};
    return {list.numbers + first, 0, count};
}

std::size_t column_number(column_list list, std::size_t i) {
    return list.numbers == nullptr ? list.first + i : list.numbers[i];
}

// Calls f(part, place) for so many columns of a list at a time.
template <class Function>
void for_each_part(column_list list, std::size_t most, Function f) {
    for (std::size_t i = 0; i < list.count; i += most)
        f(part_of(list, i, std::min(most, list.count - i)), i);
}

columns::sparse_gram_task task_in(column_workspace& memory, const columns::sparse_view& x,
                                  column_list left, column_list right) {
    static_assert(sizeof(column_workspace::line) == left_columns_max * sizeof(float));
    memory.lines.resize(columns::line_rows);
    memory.places.resize(left.count + right.count);
    memory.sums.resize(right.count * left_columns_max);
    return {x, left, right, memory.lines.data()->values, memory.places.data(), memory.sums.data()};
}

} // namespace

// ---- the matrix ----

result<sparse_memory> sparse_memory::allocate(memory_pool& pool, matrix_size size,
                                              std::size_t entries) {
    const std::size_t row_bytes =
        size.rows <= columns::short_rows_max ? sizeof(std::uint16_t) : sizeof(std::int32_t);
    sparse_memory memory;
    for (const auto& [to, bytes] :
         {std::pair{&memory.starts, (size.columns + 1) * sizeof(std::int64_t)},
          std::pair{&memory.row_numbers, entries * row_bytes},
          std::pair{&memory.values, entries * sizeof(float)}}) {
        auto taken = pool.allocate(bytes);
        if (!taken)
            return taken.failure().in("a matrix of " + std::to_string(entries) + " entries");
        *to = std::move(*taken);
    }
    return memory;
}

sparse_columns::sparse_columns(matrix_size size, sparse_memory memory)
    : column_matrix{size}, memory_{std::move(memory)}, loops_{cpu::fastest(
                                                           columns::sparse_column_loops_avx512,
                                                           columns::sparse_column_loops_avx2,
                                                           columns::sparse_column_loops_baseline)} {
}

columns::sparse_view sparse_columns::view() const noexcept {
    return {as<const std::int64_t>(memory_.starts), memory_.row_numbers->data(),
            as<const float>(memory_.values), rows()};
}

std::uint64_t sparse_columns::all_entries() const noexcept {
    return static_cast<std::uint64_t>(view().starts[columns()]);
}

std::size_t sparse_columns::count_entries(std::size_t column) const {
    const std::int64_t* const starts = view().starts + column;
    return static_cast<std::size_t>(starts[1] - starts[0]);
}

sparse_column sparse_columns::column(std::size_t column) const {
    const columns::sparse_view x = view();
    const std::size_t count = entries(column);
    const auto first = x.starts[column];
    return {memory_.with_rows(rows(),
                              [&](const auto* all) {
                                  return row_number_list{std::span{all + first, count}};
                              }),
            {x.values + first, count}};
}

void sparse_columns::write(std::size_t column, float* values) const {
    std::fill_n(values, rows(), 0.f);
    const sparse_column entries = this->column(column);
    for (std::size_t e = 0; e < entries.values.size(); ++e)
        values[entries.rows[e]] = entries.values[e];
}

void sparse_columns::multiply(column_list set, const double* r, double* products) const {
    loops_.products(view(), set, r, products);
}

void sparse_columns::add_columns(column_list set, const double* coefficients, double* r) const {
    loops_.add(view(), set, coefficients, r);
}

void sparse_columns::add_squares(column_list set, double* squares) const {
    loops_.squares(view(), set, squares);
}

void sparse_columns::add_values(column_list set, double* sums) const {
    loops_.sums(view(), set, sums);
}

void sparse_columns::multiply_pairs(column_list left, column_list right, double* block,
                                    column_workspace& memory) const {
    // Scattered columns are passed once, the others once for every 16 of those: either side may be scattered.
    const auto cost = [&](column_list scattered, column_list others) {
        std::uint64_t entries = 0;
        for (std::size_t j = 0; j < others.count; ++j)
            entries += count_entries(column_number(others, j));
        return entries * ((scattered.count + left_columns_max - 1) / left_columns_max);
    };
    const bool swapped = cost(right, left) < cost(left, right);
    const std::size_t row = right.count;
    const std::size_t scattered_step = swapped ? 1 : row, other_step = swapped ? row : 1;
    if (swapped)
        std::swap(left, right);
    for_each_part(right, right_columns_at_once, [&](column_list some, std::size_t j) {
        for_each_part(left, left_columns_max, [&](column_list scattered, std::size_t i) {
            loops_.gram(task_in(memory, view(), scattered, some));
            for (std::size_t s = 0; s < scattered.count; ++s)
                for (std::size_t o = 0; o < some.count; ++o)
                    block[(i + s) * scattered_step + (j + o) * other_step] =
                        memory.sums[o * left_columns_max + s];
        });
    });
}

void sparse_columns::multiply_among(column_list set, double* block,
                                    column_workspace& memory) const {
    // Columns with the most entries are scattered first, and need not be passed again.
    std::vector<std::uint32_t>& order = memory.order; // positions in the set, then columns
    order.resize(2 * set.count);
    const std::span positions{order.data(), set.count};
    std::iota(positions.begin(), positions.end(), 0u);
    std::ranges::stable_sort(positions, std::greater{},
                             [&](std::uint32_t i) { return count_entries(column_number(set, i)); });
    for (std::size_t i = 0; i < set.count; ++i)
        order[set.count + i] = static_cast<std::uint32_t>(column_number(set, positions[i]));
    const column_list sorted{order.data() + set.count, 0, set.count};
    for_each_part(sorted, left_columns_max, [&](column_list scattered, std::size_t i) {
        const column_list others = part_of(sorted, i, set.count - i);
        for_each_part(others, right_columns_at_once, [&](column_list some, std::size_t j) {
            loops_.gram(task_in(memory, view(), scattered, some));
            for (std::size_t o = 0; o < some.count; ++o)
                for (std::size_t s = 0; s < scattered.count; ++s) {
                    const std::size_t a = positions[i + s], b = positions[i + j + o];
                    block[a * set.count + b] = block[b * set.count + a] =
                        memory.sums[o * left_columns_max + s];
                }
        });
    });
}

result<std::unique_ptr<const column_matrix>> sparse_columns::scale(memory_pool& pool,
                                                                   const float* factors) const {
    const std::size_t entries = all_entries();
    auto values = pool.allocate(entries * sizeof(float));
    if (!values)
        return values.failure().in("the scaled copy of a matrix of " + std::to_string(entries) +
                                   " entries");
    const columns::sparse_view x = view();
    auto* const to = as<float>(*values);
    memory_.with_rows(rows(), [&](const auto* row_of) {
        for (std::size_t e = 0; e < entries; ++e)
            to[e] = x.values[e] * factors[row_of[e]];
    });
    // Where the entries are is the same: buffers are shared and never change.
    return std::unique_ptr<const column_matrix>{new sparse_columns{
        {rows(), columns()}, {memory_.starts, memory_.row_numbers, std::move(*values)}}};
}

} // namespace troupe
