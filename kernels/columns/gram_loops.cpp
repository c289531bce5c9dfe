// Compiled once per instruction set, with TROUPE_GRAM_LOOPS naming the table (gram_loops.hpp): no inline functions from
// elsewhere.
//
// A column's values lie one after the other, so that a dot product of two columns reads whole vectors of both, and nothing
// has to be packed. A tile of dot products stays in registers while it passes along the rows, one vector of sums for each;
// its right columns stay in the first-level cache and a panel of left columns in the second-level cache. Sums are float32
// along `depth` rows, in four parts of a quarter of them each, and then float64: whole numbers of at most 256 have exact
// products, as 256 * 256 * depth / 4 is 2^24.
#include "kernels/columns/gram_loops.hpp"

#include <utility>

#include "kernels/columns/wide_sums.hpp"
#include "kernels/cpu/registers.hpp"

namespace troupe::columns {

namespace {

using cpu::lanes;
using cpu::vec;

constexpr std::size_t unit = 16; // rows are filled up with zeros to a multiple of so many
// Rows that are added up in float32: 64 in each lane with AVX-512. Fewer would cost time, as each sum of a tile is added to
// its number behind them.
constexpr std::size_t depth = 1024;
// Left columns whose rows stay in the second-level cache: 512 KiB of them.
constexpr std::size_t panel = 128;

#if defined(__AVX512F__)
constexpr int left_max = 5, right_max = 5;
#elif defined(__AVX2__)
constexpr int left_max = 3, right_max = 4;
#else
constexpr int left_max = 3, right_max = 3;
#endif

// Two sets of sums become one with half as many lanes of each: lanes whose number has the bit Distance are y's.
template <std::size_t Distance, std::size_t... Lane>
vec fold(vec x, vec y, std::index_sequence<Lane...>) {
    return __builtin_shufflevector(x, y, (Lane & Distance ? lanes + Lane - Distance : Lane)...) +
           __builtin_shufflevector(x, y, (Lane & Distance ? lanes + Lane : Lane + Distance)...);
}

template <std::size_t Distance, std::size_t... Lane>
wide fold(wide x, wide y, std::index_sequence<Lane...>) {
    return __builtin_shufflevector(x, y, (Lane & Distance ? width + Lane - Distance : Lane)...) +
           __builtin_shufflevector(x, y, (Lane & Distance ? width + Lane : Lane + Distance)...);
}

constexpr std::size_t quarters = 4; // of the rows of a tile

// As many sets of sums as there are lanes become four vectors, with four sums of set l + 4 k in the lanes from 4 k on of
// vector l.
template <std::size_t Distance = lanes / 2>
void fold_to_quarters(vec* sets) {
    if constexpr (Distance >= quarters) {
        for (std::size_t l = 0; l < Distance; ++l)
            sets[l] =
                fold<Distance>(sets[l], sets[l + Distance], std::make_index_sequence<lanes>{});
        fold_to_quarters<Distance / 2>(sets);
    }
}

// The totals of as many sets as there are lanes.
void total_quarters(const vec* sets, double* totals) {
    float sums[quarters][lanes];
    for (std::size_t l = 0; l < quarters; ++l)
        cpu::put(sums[l], sets[l]);
    if constexpr (width < quarters) {
        for (std::size_t l = 0; l < quarters; ++l)
            totals[l] = (static_cast<double>(sums[l][0]) + static_cast<double>(sums[l][2])) +
                        (static_cast<double>(sums[l][1]) + static_cast<double>(sums[l][3]));
    } else {
        constexpr std::make_index_sequence<width> all;
        for (std::size_t k = 0; k < lanes; k += width) {
            const wide even = fold<2>(widened(sums[0] + k), widened(sums[2] + k), all),
                       odd = fold<2>(widened(sums[1] + k), widened(sums[3] + k), all);
            put(totals + k, fold<1>(even, odd, all));
        }
    }
}

// A tile: its columns from the first of its rows on, and where its numbers are added.
struct gram_tile {
    const float* left[left_max];
    const float* right[right_max];
    std::size_t rows; // a multiple of 16
    double* block;
    std::size_t block_row;
};

template <int Left, int Right>
void multiply_tile(const gram_tile& tile) {
    constexpr std::size_t sets = (Left * Right + lanes - 1) / lanes * lanes;
    vec sums[sets] = {};
    const float* left[Left];
    const float* right[Right];
    for (int i = 0; i < Left; ++i)
        left[i] = tile.left[i];
    for (int j = 0; j < Right; ++j)
        right[j] = tile.right[j];
    for (std::size_t row = 0; row < tile.rows; row += lanes) {
        vec l[Left];
        for (int i = 0; i < Left; ++i)
            l[i] = cpu::get(left[i] + row);
        for (int j = 0; j < Right; ++j) {
            const vec r = cpu::get(right[j] + row);
            for (int i = 0; i < Left; ++i)
                sums[i * Right + j] += l[i] * r;
        }
    }
    double totals[sets];
    for (std::size_t s = 0; s < sets; s += lanes) {
        fold_to_quarters(sums + s);
        total_quarters(sums + s, totals + s);
    }
    for (int i = 0; i < Left; ++i)
        for (int j = 0; j < Right; ++j)
            tile.block[static_cast<std::size_t>(i) * tile.block_row +
                       static_cast<std::size_t>(j)] += totals[i * Right + j];
}

template <int Left, int Right>
void choose_right(const gram_tile& tile, std::size_t right) {
    if (right == Right)
        return multiply_tile<Left, Right>(tile);
    if constexpr (Right > 1)
        choose_right<Left, Right - 1>(tile, right);
}

template <int Left>
void choose_tile(const gram_tile& tile, std::size_t left, std::size_t right) {
    if (left == Left)
        return choose_right<Left, right_max>(tile, right);
    if constexpr (Left > 1)
        choose_tile<Left - 1>(tile, left, right);
}

struct range {
    std::size_t begin, end;

    range behind(std::size_t first) const { return {first + begin, first + end}; }
};

// So many columns in groups of nearly the same size.
struct groups {
    std::size_t columns, count;

    groups(std::size_t columns, std::size_t most)
        : columns{columns}, count{(columns + most - 1) / most} {}
    range operator[](std::size_t group) const {
        return {columns * group / count, columns * (group + 1) / count};
    }
};

// Some left columns with all right ones, over some rows.
struct gram_panel {
    range left;
    std::size_t row, rows;
};

// The columns of a group from a row on; returns how many.
std::size_t put_columns(const gram_task& task, const column_list& set, const range& group,
                        std::size_t row, const float** columns) {
    for (std::size_t i = group.begin; i < group.end; ++i)
        columns[i - group.begin] = task.x.first + number_of(set, i) * task.x.stride + row;
    return group.end - group.begin;
}

void multiply_panel(const gram_task& task, const gram_panel& at) {
    const groups left{at.left.end - at.left.begin, left_max}, right{task.right.count, right_max};
    for (std::size_t g = 0; g < right.count; ++g) {
        const range columns = right[g];
        gram_tile tile;
        tile.rows = at.rows;
        tile.block_row = task.right.count;
        const std::size_t count = put_columns(task, task.right, columns, at.row, tile.right);
        for (std::size_t h = 0; h < left.count; ++h) {
            const range rows = left[h].behind(at.left.begin);
            if (task.upper_suffices && rows.begin >= columns.end)
                break;
            const std::size_t left_count = put_columns(task, task.left, rows, at.row, tile.left);
            tile.block = task.block + rows.begin * task.right.count + columns.begin;
            choose_tile<left_max>(tile, left_count, count);
        }
    }
}

void multiply(const gram_task& task) {
    for (std::size_t i = 0; i < task.left.count * task.right.count; ++i)
        task.block[i] = 0;
    const std::size_t rows = (task.x.rows + unit - 1) / unit * unit; // zeros behind the last
    for (std::size_t row = 0; row < rows; row += depth)
        for (std::size_t first = 0; first < task.left.count; first += panel)
            multiply_panel(task, {.left = {first, least(first + panel, task.left.count)},
                                  .row = row,
                                  .rows = least(depth, rows - row)});
}

} // namespace

extern const gram_loops TROUPE_GRAM_LOOPS;
const gram_loops TROUPE_GRAM_LOOPS{multiply};

} // namespace troupe::columns
