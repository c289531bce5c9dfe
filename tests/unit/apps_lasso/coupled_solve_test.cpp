#include <boost/test/unit_test.hpp>

#include "apps/lasso/coupled_solve.hpp"
#include "kernels/columns/sparse_columns.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

// Columns in groups that are much alike, and a target; X_S'X_S with means apart.
struct made_set {
    std::size_t rows = 60, columns = 30;
    std::vector<std::vector<double>> x;
    std::vector<double> y;

    explicit made_set(std::uint64_t seed, double mean) {
        random_stream random{seed};
        for (std::size_t j = 0; j < columns; ++j) {
            x.emplace_back(rows);
            for (std::size_t i = 0; i < rows; ++i)
                x[j][i] = static_cast<float>((j % 3 != 0 ? 0.95 * (x[j - 1][i] - mean) : 0) +
                                             0.3 * random.normal() + mean);
        }
        for (std::size_t i = 0; i < rows; ++i)
            y.push_back(x[0][i] - 2 * x[4][i] + x[11][i] + 0.3 * random.normal());
    }

    // The columns in the order of the set, as if two workers had them.
    result<gathered_columns> gathered(memory_pool& memory) const {
        const std::size_t half = rows / 3;
        std::vector<std::int64_t> starts[2]{{0}, {0}};
        std::vector<std::int32_t> places[2], numbers;
        std::vector<float> values[2];
        for (std::size_t j = 0; j < columns; ++j) {
            numbers.push_back(static_cast<std::int32_t>(j));
            for (std::size_t i = 0; i < rows; ++i) {
                const bool is_second = i >= half;
                places[is_second].push_back(static_cast<std::int32_t>(is_second ? i - half : i));
                values[is_second].push_back(static_cast<float>(x[j][i]));
            }
            for (const int w : {0, 1})
                starts[w].push_back(static_cast<std::int64_t>(values[w].size()));
        }
        gathered_columns made{memory, rows};
        auto kept = made.keep(
            numbers, std::vector<column_entries>{{half, starts[0], places[0], values[0]},
                                                 {rows - half, starts[1], places[1], values[1]}});
        if (!kept)
            return kept.failure();
        return made;
    }

    coupled_set set(bool is_centred) const {
        const auto n = static_cast<double>(rows);
        coupled_set s;
        std::vector<double> numbers;
        double target = 0;
        for (const double v : y)
            target += v / n;
        for (std::size_t j = 0; j < columns; ++j) {
            double mean = 0, product = 0;
            for (std::size_t i = 0; i < rows; ++i) {
                mean += x[j][i] / n;
                product += x[j][i] * y[i];
            }
            s.means.push_back(is_centred ? std::sqrt(n) * mean : 0);
            s.gradients.push_back(product - (is_centred ? n * mean * target : 0));
            s.values.push_back(0);
            for (std::size_t k = 0; k < columns; ++k) {
                double entry = 0;
                for (std::size_t i = 0; i < rows; ++i)
                    entry += x[j][i] * x[k][i];
                numbers.push_back(entry);
            }
        }
        s.products = coupling_matrix{columns, numbers};
        for (std::size_t j = 0; j < columns; ++j)
            s.curvatures.push_back(s.coupling(j, j));
        return s;
    }
};

constexpr double residual_square = 1e6; // a bound

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_coupled_solve)

BOOST_AUTO_TEST_CASE(reaches_the_gap_and_keeps_gradients_up_to_date) {
    for (const std::uint64_t seed : {1u, 2u, 3u})
        for (const bool is_centred : {false, true})
            for (const penalty p : {penalty{1, 0}, penalty{1, 0.5}, penalty{0.01, 0}}) {
                const coupled_set start = made_set{seed, is_centred ? 5.0 : 0.0}.set(is_centred);
                coupled_set set = start;
                const solve_outcome outcome = solve(set, p, {1e-8, 10000, residual_square});
                BOOST_TEST(outcome.gap <= 1e-8);
                double largest = 0;
                for (std::size_t i = 0; i < set.values.size(); ++i) {
                    double gradient = start.gradients[i];
                    for (std::size_t k = 0; k < set.values.size(); ++k)
                        gradient -= start.coupling(i, k) * set.values[k];
                    BOOST_TEST(std::abs(gradient - set.gradients[i]) < 1e-9);
                    largest = std::max(largest, std::abs(gradient - p.l2 * set.values[i]));
                }
                BOOST_TEST(largest < p.l1 * (1 + 1e-4));
            }
}

BOOST_AUTO_TEST_CASE(says_how_much_smaller_the_objective_is) {
    const penalty p{0.5, 0.1};
    const coupled_set start = made_set{4, 0}.set(false);
    coupled_set set = start;
    const solve_outcome outcome = solve(set, p, {1e-12, 10000, residual_square});
    double decrease = 0;
    for (std::size_t i = 0; i < set.values.size(); ++i) {
        decrease += set.values[i] * (start.gradients[i] + set.gradients[i]) / 2;
        decrease -= p.l1 * std::abs(set.values[i]) + p.l2 / 2 * set.values[i] * set.values[i];
    }
    BOOST_TEST(outcome.decrease == decrease, boost::test_tools::tolerance(1e-10));
}

BOOST_AUTO_TEST_CASE(columns_do_as_well_as_their_products) {
    memory_pool memory{1u << 20};
    for (const std::uint64_t seed : {1u, 2u, 3u})
        for (const bool is_centred : {false, true})
            for (const penalty p : {penalty{1, 0}, penalty{1, 0.5}, penalty{0.01, 0}}) {
                const made_set made{seed, is_centred ? 5.0 : 0.0};
                coupled_set known = made.set(is_centred);
                const auto columns = made.gathered(memory);
                BOOST_REQUIRE(columns.ok());
                std::vector<std::int32_t> all(made.columns);
                for (std::size_t j = 0; j < made.columns; ++j)
                    all[j] = static_cast<std::int32_t>(j);
                gathered_set set{columns->find(all, [](std::int32_t) { return 1.0; }).value(),
                                 known.means, known.curvatures, known.gradients, known.values};
                BOOST_TEST(set.entries() == made.rows * made.columns);
                const solve_bounds bounds{1e-7, 100000, residual_square};
                const solve_outcome one = solve(known, p, bounds), other = solve(set, p, bounds);
                BOOST_TEST(other.gap <= 1e-7);
                BOOST_TEST(std::abs(one.decrease - other.decrease) < 2e-7);
                for (std::size_t j = 0; j < made.columns; ++j)
                    BOOST_TEST(std::abs(known.gradients[j] - set.gradients[j]) < 1e-3);
            }
}

// From one penalty to the next, up and down again, so that variables come and go.
BOOST_AUTO_TEST_CASE(a_factor_that_is_kept_changes_nothing_but_the_passes) {
    for (const double l2 : {0.0, 0.5}) {
        coupled_set kept = made_set{4, 1}.set(true), anew = kept;
        face_memory memory;
        std::size_t passes_kept = 0, passes_anew = 0;
        for (const double l1 : {3.0, 1.0, 0.3, 0.1, 0.03, 0.2, 0.5, 0.01}) {
            const solve_bounds bounds{1e-9, 100000, residual_square};
            const solve_outcome one = solve(kept, {l1, l2}, bounds, memory),
                                other = solve(anew, {l1, l2}, bounds);
            BOOST_TEST(one.gap <= 1e-9);
            BOOST_TEST(other.gap <= 1e-9);
            passes_kept += one.passes;
            passes_anew += other.passes;
            for (std::size_t j = 0; j < kept.values.size(); ++j)
                BOOST_TEST(std::abs(kept.values[j] - anew.values[j]) < 1e-4);
        }
        BOOST_TEST(memory.factor.size() > 0u);
        BOOST_TEST(passes_kept < passes_anew);
    }
}

BOOST_AUTO_TEST_CASE(stops_at_the_bound_of_passes) {
    coupled_set set = made_set{1, 0}.set(false);
    const solve_outcome outcome = solve(set, {1e-3, 0}, {1e-12, 1, residual_square});
    BOOST_TEST(outcome.passes >= 1u);
    BOOST_TEST(outcome.passes < 100u);
    BOOST_TEST(outcome.decrease > 0);
}

BOOST_AUTO_TEST_CASE(one_variable_is_solved_in_closed_form) {
    coupled_set set{coupling_matrix{1, {4}}, {0}, {4}, {10}, {0}};
    solve(set, {2, 0}, {0, 100, residual_square});
    BOOST_TEST(set.values.front() == 2);
    BOOST_TEST(set.gradients.front() == 2);
    set = {coupling_matrix{1, {4}}, {0}, {4}, {1}, {0.5}};
    solve(set, {3, 0}, {0, 100, residual_square});
    BOOST_TEST(set.values.front() == 0);
}

BOOST_AUTO_TEST_CASE(gives_the_same_with_and_without_zeros) {
    std::vector<double> numbers(400);
    coupled_set dense;
    for (std::size_t i = 0; i < 20; ++i) {
        numbers[i * 21] = 2;
        if (i % 2 == 1)
            numbers[i * 20 + i - 1] = numbers[(i - 1) * 20 + i] = 1;
        dense.means.push_back(0);
        dense.curvatures.push_back(2);
        dense.gradients.push_back(static_cast<double>(i) - 8);
        dense.values.push_back(0);
    }
    coupled_set sparse = dense;
    dense.products = coupling_matrix{20, numbers};
    coupling_matrix_builder builder{20, 40};
    for (std::size_t i = 0; i < 20; ++i) {
        for (std::size_t k = 20; k-- > 0;)
            if (numbers[i * 20 + k] != 0)
                builder.add(k, numbers[i * 20 + k]);
        builder.end_row();
    }
    sparse.products = std::move(builder).finish();
    BOOST_TEST(sparse.products.entries() == 40u);
    solve(dense, {1, 0}, {1e-12, 100, residual_square});
    solve(sparse, {1, 0}, {1e-12, 100, residual_square});
    for (std::size_t i = 0; i < 20; ++i)
        BOOST_TEST(std::abs(dense.values[i] - sparse.values[i]) < 1e-6);
    for (std::size_t i = 0; i < 20; ++i)
        for (std::size_t k = 0; k < 20; ++k)
            BOOST_TEST(dense.coupling(i, k) == sparse.coupling(i, k));
}

BOOST_AUTO_TEST_SUITE_END()
