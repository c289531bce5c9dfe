// GB/s of the operations on columns of a data matrix that read it once, beside memcpy's, and GFLOP/s of products of columns
// with one another, beside the peak of sgemm measured in the same run. The best of many repetitions in the time of the
// one thread that runs.
//
//   bench_columns [ROWS COLUMNS]     of the dense matrix; 60000 784
//
// The sparse matrix has 100000 rows and 200000 columns; column j has a share of the rows that falls as 1 / (j + 10).
//
// A line counts what its result needs at least: of X_S' X_S the numbers on and above the diagonal, two operations for each
// pair of values; of dense columns 4 bytes per value, of sparse ones 8 per entry. Sets are spread over all columns.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/columns/dense_columns.hpp"
#include "kernels/columns/sparse_columns.hpp"
#include "schemas/base/random.hpp"
#include "schemas/base/time_source.hpp"
#include "tests/bench/sgemm_peak.hpp"

using namespace troupe;

namespace {

// What this thread has run, so that it does not matter when other programs have their turns.
class thread_time final : public time_source {
  public:
    time_point now() const noexcept override {
        timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return {t.tv_sec * 1'000'000'000 + t.tv_nsec};
    }
};

// A tenth of a second, and at least seven times.
double best_seconds(const time_source& time, const std::function<void()>& run) {
    double best = 1e9, all = 0;
    for (int i = 0; i < 7 || all < 0.1; ++i) {
        const time_point start = time.now();
        run();
        const double seconds = static_cast<double>((time.now() - start).count()) * 1e-9;
        best = std::min(best, seconds);
        all += seconds;
    }
    return best;
}

// What the machine does at most. Bytes of `copied` are read and written.
struct peaks {
    double flops, copied, read;
};

// Of arrays that no cache holds.
peaks measure_peaks(const time_source& time) {
    const std::vector<double> from(16 << 20, 1);
    std::vector<double> to(from.size());
    const auto bytes = static_cast<double>(from.size() * sizeof(double));
    const double copying = best_seconds(
        time, [&] { std::memcpy(to.data(), from.data(), from.size() * sizeof(double)); });
    double sink = 0;
    const double reading = best_seconds(time, [&] {
        double sums[4][8] = {};
        const std::size_t quarter = from.size() / 4; // four streams, as one does not reach the most
        for (std::size_t i = 0; i < quarter; i += 8)
            for (std::size_t s = 0; s < 4; ++s) {
                __builtin_prefetch(&from[s * quarter + i] + 256);
                for (std::size_t l = 0; l < 8; ++l)
                    sums[s][l] += from[s * quarter + i + l];
            }
        sink += std::accumulate(sums[0], sums[0] + 32, 0.);
    });
    TROUPE_CHECK(sink > 0, "it has been read");
    return {bench::sgemm_peak_flops(time), 2 * bytes / copying, bytes / reading};
}

void print_flops(const std::string& name, double seconds, double flops, const peaks& most) {
    std::printf("%-52s %10.3f ms %8.1f GFLOP/s %4.0f%% of sgemm\n", name.c_str(), seconds * 1e3,
                flops / seconds * 1e-9, 100 * flops / seconds / most.flops);
}

void print_bytes(const std::string& name, double seconds, double bytes, const peaks& most) {
    std::printf("%-52s %10.3f ms %8.1f GB/s    %4.0f%% of reading %4.0f%% of memcpy\n",
                name.c_str(), seconds * 1e3, bytes / seconds * 1e-9,
                100 * bytes / seconds / most.read, 100 * bytes / seconds / most.copied);
}

std::vector<std::uint32_t> spread_set(std::size_t columns, std::size_t count) {
    std::vector<std::uint32_t> set(count);
    for (std::size_t i = 0; i < count; ++i)
        set[i] = static_cast<std::uint32_t>(i * columns / count);
    return set;
}

void time_vectors(const time_source& time, const std::string& name, const column_matrix& x,
                  const column_set& set, double bytes, const peaks& most) {
    std::vector<double> r(x.rows(), 1), products(set.size());
    const std::vector<double> coefficients(set.size(), 1e-9);
    print_bytes(name + " products", best_seconds(time, [&] { x.products(set, r, products); }),
                bytes, most);
    print_bytes(name + " add", best_seconds(time, [&] { x.add(set, coefficients, r); }), bytes,
                most);
    print_bytes(name + " squares", best_seconds(time, [&] { x.squares(set, products); }), bytes,
                most);
}

// flops: of one product of each two columns of the set, a column with itself included
void time_gram(const time_source& time, const std::string& name, const column_matrix& x,
               const column_set& set, double flops, const peaks& most) {
    std::vector<double> block(set.size() * set.size());
    column_workspace memory;
    print_flops(name + " gram", best_seconds(time, [&] { x.gram(set, block, memory); }), flops,
                most);
}

void time_dense(const time_source& time, matrix_size size, const peaks& most) {
    memory_pool pool{8ull << 30};
    auto builder = dense_columns_builder::make(pool, size);
    TROUPE_CHECK(builder.ok(), "the pool is large enough");
    constexpr std::size_t piece = 1000;
    random_stream random{1};
    std::vector<float> rows(piece * size.columns);
    for (float& value : rows)
        value = static_cast<float>(random.uniform());
    double building = 0;
    for (std::size_t row = 0; row < size.rows; row += piece) {
        const std::size_t count = std::min(piece, size.rows - row);
        const time_point start = time.now();
        TROUPE_CHECK(builder->append(count, {rows.data(), count * size.columns}).ok(), "finite");
        building += static_cast<double>((time.now() - start).count()) * 1e-9;
    }
    const auto x = builder->finish().value();
    std::printf("dense, %zu rows, %zu columns\n", size.rows, size.columns);
    const auto column_bytes = 4 * static_cast<double>(size.rows);
    print_bytes("  building", building, column_bytes * static_cast<double>(size.columns), most);
    for (const std::size_t wanted : {1, 16, 64, 256, 784}) {
        const std::size_t count = std::min<std::size_t>(wanted, size.columns);
        const auto set = spread_set(size.columns, count);
        const std::string name = "  " + std::to_string(count) + " columns:";
        const auto n = static_cast<double>(count);
        time_vectors(time, name, *x, set, n * column_bytes, most);
        time_gram(time, name, *x, set, n * (n + 1) * static_cast<double>(size.rows), most);
    }
    // What a set has in common with all columns: one side is wide.
    const auto set = spread_set(size.columns, 16);
    std::vector<double> block(16 * size.columns);
    column_workspace memory;
    print_flops("  16 columns with all: gram",
                best_seconds(time,
                             [&] {
                                 x->gram({set, x->all()}, block, memory);
                             }),
                2 * 16 * static_cast<double>(size.columns * size.rows), most);
}

// Entries of random rows; how many a column has falls with its number as a power law does.
struct power_law_rows {
    static constexpr matrix_size size{100000, 200000};
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> columns;
    std::vector<float> values;

    power_law_rows() {
        random_stream random{2};
        std::vector<std::vector<std::int32_t>> rows(size.rows);
        for (std::size_t j = 0; j < size.columns; ++j) {
            const auto count = 1 + size.rows / 2 * 10 / (j + 10);
            for (std::size_t e = 0; e < count; ++e)
                rows[random.below(size.rows)].push_back(static_cast<std::int32_t>(j));
        }
        for (auto& row : rows) {
            row.erase(std::unique(row.begin(), row.end()), row.end());
            columns.insert(columns.end(), row.begin(), row.end());
            starts.push_back(static_cast<std::int64_t>(columns.size()));
        }
        for (std::size_t e = 0; e < columns.size(); ++e)
            values.push_back(static_cast<float>(random.uniform()));
    }
};

double entries_of(const column_matrix& x, const column_set& set) {
    double entries = 0;
    for (std::size_t i = 0; i < set.size(); ++i)
        entries += static_cast<double>(x.entries(set[i]));
    return entries;
}

// Of the columns of a set, each two meet in the entries of the shorter one at most.
double pairs_of(const column_matrix& x, const column_set& set) {
    std::vector<double> entries;
    for (std::size_t i = 0; i < set.size(); ++i)
        entries.push_back(static_cast<double>(x.entries(set[i])));
    std::ranges::sort(entries, std::greater{});
    double pairs = 0;
    for (std::size_t i = 0; i < entries.size(); ++i)
        pairs += static_cast<double>(i + 1) * entries[i];
    return pairs;
}

void time_sparse(const time_source& time, const peaks& most) {
    memory_pool pool{4ull << 30};
    const power_law_rows rows;
    const sparse_rows all{rows.starts, rows.columns, rows.values};
    const time_point start = time.now();
    auto builder = sparse_columns_builder::make(pool, power_law_rows::size);
    TROUPE_CHECK(builder.ok() && builder->append(all).ok(), "the rows are good");
    const auto x = builder->finish().value();
    const time_point built = time.now();
    const auto bytes = 8 * static_cast<double>(x->all_entries());
    std::printf("sparse, %zu rows, %zu columns, %.1f million entries\n", x->rows(), x->columns(),
                bytes / 8e6);
    print_bytes("  building", static_cast<double>((built - start).count()) * 1e-9, bytes, most);
    time_vectors(time, "  all columns:", *x, x->all(), bytes, most);
    for (const std::size_t count : {16, 256}) {
        // The columns of the most entries, and as many of all.
        std::vector<std::uint32_t> first(count);
        std::iota(first.begin(), first.end(), 0u);
        for (const auto& [what, set] :
             {std::pair{" longest columns:", first},
              std::pair{" columns of all:", spread_set(x->columns(), count)}}) {
            const std::string name = "  " + std::to_string(count) + what;
            time_vectors(time, name, *x, set, 8 * entries_of(*x, set), most);
            time_gram(time, name, *x, set, 2 * pairs_of(*x, set), most);
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    matrix_size size{60000, 784};
    if (argc == 3)
        size = {std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10)};
    if (size.rows == 0 || size.columns == 0 || (argc != 1 && argc != 3)) {
        std::fprintf(stderr, "usage: bench_columns [ROWS COLUMNS]\n");
        return 2;
    }
    const thread_time time;
    const peaks most = measure_peaks(time);
    std::printf("one thread: sgemm %.1f GFLOP/s, memcpy %.1f GB/s (read and written), "
                "reading %.1f GB/s\n",
                most.flops * 1e-9, most.copied * 1e-9, most.read * 1e-9);
    time_dense(time, size, most);
    time_sparse(time, most);
}
