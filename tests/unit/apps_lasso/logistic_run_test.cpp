// Whole runs of lasso with the logistic loss, beside the conditions of the optimum, computed plainly.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <boost/test/unit_test.hpp>

#include "apps/lasso/logistic.hpp"
#include "tests/unit/apps_lasso/lasso_runs.hpp"

using namespace troupe;
using namespace troupe::test;
using scheduled::coupling;

namespace {

// Classes are drawn by the signs of what made_rows makes, with some noise.
matrix_rows with_classes(matrix_rows rows, double zero = 0) {
    random_stream random{7};
    double mean = 0;
    for (const double target : rows.targets)
        mean += target / static_cast<double>(rows.rows());
    for (double& target : rows.targets)
        target = target - mean + 1.5 * random.normal() > 0.3 ? 1 : zero;
    return rows;
}
matrix_rows dense_data() {
    return with_classes(made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.9}));
}
matrix_rows sparse_data() {
    return with_classes(
        made_rows({.rows = 500, .columns = 1000, .share = 0.05, .group = 10, .likeness = 0.95}));
}

lasso_case logistic_case() {
    lasso_case c;
    c.is_logistic = true;
    c.share = 0.1;
    c.run.stop.gap = 1e-11;
    c.run.phases_max = 20000;
    return c;
}

struct plain_optimum {
    double objective = 0;
    double violation = 0; // of the conditions of the optimum, relative to lambda
    double sum = 0;       // of the residual, relative to the rows
};

// Of what was found, from the data alone. Values are those of the columns divided by `norms`, if there are any.
plain_optimum check_optimum(const lasso_case& c, const matrix_rows& given,
                            const lasso::solution& s) {
    const matrix_rows rows = dense_of(given);
    const std::size_t n = rows.rows(), columns = rows.columns;
    std::vector<double> values(columns), norms(columns, 1.0);
    for (std::size_t i = 0; i < s.columns.size(); ++i)
        values[static_cast<std::size_t>(s.columns[i])] = s.values[i];
    const auto at = [&](std::size_t i, std::size_t j) {
        return static_cast<double>(rows.values[i * columns + j]);
    };
    for (std::size_t j = 0; c.run.unit_norm && j < columns; ++j) {
        double mean = 0, square = 0;
        for (std::size_t i = 0; i < n; ++i)
            mean += c.intercept ? at(i, j) / static_cast<double>(n) : 0.0;
        for (std::size_t i = 0; i < n; ++i)
            square += (at(i, j) - mean) * (at(i, j) - mean);
        norms[j] = square > 1e-9 ? std::sqrt(square) : 1.0;
    }
    plain_optimum found;
    std::vector<double> gradient(columns);
    for (std::size_t i = 0; i < n; ++i) {
        double margin = s.numbers.intercept;
        for (std::size_t j = 0; j < columns; ++j)
            margin += at(i, j) / norms[j] * values[j];
        const bool is_one = c.has_label ? rows.targets[i] == c.label : rows.targets[i] == 1;
        const lasso::logistic_row row = lasso::logistic_row_of(margin, is_one);
        found.objective += row.loss / static_cast<double>(n);
        found.sum += row.residual / static_cast<double>(n);
        for (std::size_t j = 0; j < columns; ++j)
            gradient[j] += at(i, j) / norms[j] * row.residual / static_cast<double>(n);
    }
    const double l1 = s.numbers.lambda * c.ratio, l2 = s.numbers.lambda * (1 - c.ratio);
    for (std::size_t j = 0; j < columns; ++j) {
        found.objective += l1 * std::abs(values[j]) + l2 / 2 * values[j] * values[j];
        const double g = gradient[j] - l2 * values[j];
        const double off = values[j] == 0 ? std::max(0.0, std::abs(g) - l1)
                                          : std::abs(g - std::copysign(l1, values[j]));
        found.violation = std::max(found.violation, off / l1);
    }
    return found;
}

lasso_result check_run(const lasso_case& c, const matrix_rows& rows, double violation = 1e-4) {
    auto ran = run_lasso(c, rows);
    BOOST_REQUIRE_MESSAGE(ran.ok(), (ran.ok() ? "" : ran.failure().message()));
    BOOST_TEST(ran->run.is_done);
    BOOST_TEST_MESSAGE("phases " << ran->run.phases << ", probes " << ran->run.standings.size()
                                 << ", in use " << ran->solutions.back().columns.size());
    for (const lasso::solution& s : ran->solutions) {
        BOOST_TEST_CONTEXT("lambda " << s.numbers.lambda) {
            const plain_optimum found = check_optimum(c, rows, s);
            BOOST_TEST(s.numbers.gap <= c.run.stop.gap);
            BOOST_TEST(std::abs(s.numbers.objective / found.objective - 1) < 1e-12);
            BOOST_TEST(found.violation < violation);
            if (c.intercept)
                BOOST_TEST(std::abs(found.sum) < 1e-6);
            else
                BOOST_TEST(s.numbers.intercept == 0);
        }
    }
    return std::move(*ran);
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_logistic_run)

BOOST_AUTO_TEST_CASE(finds_the_optimum_on_any_number_of_workers_and_schedulers_with_any_window) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse})
        for (const double share : {0.3, 0.1}) {
            double objective = 0;
            for (const std::uint32_t workers : {1u, 2u, 4u})
                for (const std::uint32_t schedulers : {1u, 3u})
                    for (const std::uint32_t window : {0u, 2u, 8u}) {
                        BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                           << ", share " << share << ", workers " << workers
                                           << ", schedulers " << schedulers << ", window "
                                           << window) {
                            lasso_case c = logistic_case();
                            c.share = share;
                            c.run.workers = workers;
                            c.run.schedulers = schedulers;
                            c.run.schedule.window = window;
                            const auto ran = check_run(c, *rows);
                            const double found = ran.solutions.front().numbers.objective;
                            if (objective == 0)
                                objective = found;
                            BOOST_TEST(std::abs(found / objective - 1) < 1e-10);
                        }
                    }
        }
}

BOOST_AUTO_TEST_CASE(follows_a_path_of_lambdas) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse})
        for (const double ratio : {1.0, 0.5})
            for (const std::uint32_t schedulers : {1u, 3u}) {
                BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                   << ", ratio " << ratio << ", schedulers " << schedulers) {
                    lasso_case c = logistic_case();
                    c.share = 0;
                    c.count = 10;
                    c.path_ratio = 0.02;
                    c.ratio = ratio;
                    c.run.stop.gap = 1e-9;
                    c.run.workers = 2;
                    c.run.schedulers = schedulers;
                    const auto ran = check_run(c, *rows, 1e-3);
                    BOOST_REQUIRE(ran.solutions.size() == 10u);
                    BOOST_TEST(ran.solutions.front().columns.empty());
                    BOOST_TEST(!ran.solutions.back().columns.empty());
                }
            }
}

BOOST_AUTO_TEST_CASE(
    finds_the_optimum_without_intercept_with_scaled_columns_and_with_other_schedules) {
    const matrix_rows dense = with_classes(
        made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.9, .mean = 9}), -1);
    const matrix_rows sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse})
        for (const bool intercept : {false, true})
            for (const bool unit_norm : {false, true})
                for (const std::uint32_t schedulers : {1u, 2u})
                    for (const std::uint32_t set : {0u, 8u}) {
                        BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                           << ", intercept " << intercept << ", unit norm "
                                           << unit_norm << ", schedulers " << schedulers << ", set "
                                           << set) {
                            lasso_case c = logistic_case();
                            c.intercept = intercept;
                            c.ratio = 0.8;
                            c.run.unit_norm = unit_norm;
                            c.run.workers = 2;
                            c.run.schedulers = schedulers;
                            c.run.schedule.set = set;
                            c.run.schedule.window = 2;
                            c.run.stop.gap = 1e-8;
                            check_run(c, *rows, 1e-2);
                        }
                    }
}

BOOST_AUTO_TEST_CASE(finds_the_optimum_when_correlated_variables_are_left_out) {
    for (const std::uint32_t schedulers : {1u, 2u}) {
        BOOST_TEST_CONTEXT("schedulers " << schedulers) {
            lasso_case c = logistic_case();
            c.run.schedule.couple = coupling::check;
            c.run.schedule.window = 2;
            c.run.schedulers = schedulers;
            c.run.stop.gap = 1e-6;
            check_run(c, dense_data(), 0.1);
        }
    }
}

// Also of classes that a plane divides, of few rows, of rows far from the others, and at small penalties.
BOOST_AUTO_TEST_CASE(a_few_probes_are_enough_for_one_scheduler_whatever_the_data) {
    random_stream random{99};
    for (std::uint64_t k = 0; k < 60; ++k) {
        BOOST_TEST_CONTEXT("data " << k) {
            matrix_rows rows = made_rows({.rows = 20 + random.below(150),
                                          .columns = 2 + random.below(100),
                                          .share = k % 2 == 0 ? 1 : 0.2,
                                          .group = 1 + random.below(4),
                                          .likeness = 0.9 * random.uniform(),
                                          .mean = k % 3 == 0 ? 3.0 : 0.0,
                                          .seed = 1000 + k});
            const double noise = k % 4 < 2 ? 0 : 2 * random.uniform();
            for (double& target : rows.targets)
                target = target + noise * random.normal() > 3;
            rows.targets[0] = 1 - rows.targets[1]; // two classes in any case
            for (std::size_t i = 0; k % 5 == 0 && i < rows.values.size(); i += 37)
                rows.values[i] *= 50;
            lasso_case c = logistic_case();
            c.share = std::pow(10.0, -3 * random.uniform());
            c.ratio = k % 7 < 3 ? 0.6 : 1;
            c.intercept = k % 11 > 2;
            c.run.unit_norm = k % 13 < 4;
            c.run.workers = 1 + static_cast<std::uint32_t>(random.below(3));
            c.run.schedule.window = static_cast<std::uint32_t>(random.below(9));
            c.run.stop.gap = 1e-8;
            const auto ran = run_lasso(c, rows);
            BOOST_REQUIRE_MESSAGE(ran.ok(), (ran.ok() ? "" : ran.failure().message()));
            BOOST_TEST(ran->run.is_done);
            BOOST_TEST(ran->run.standings.size() < 60u);
            const plain_optimum found = check_optimum(c, rows, ran->solutions.front());
            BOOST_TEST(found.violation < 0.01);
            // Dense columns far from 0 are kept in float32 without their means.
            BOOST_TEST(std::abs(ran->solutions.front().numbers.objective / found.objective - 1) <
                       1e-8);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_label_is_one_class_against_the_rest) {
    matrix_rows rows = dense_data();
    for (double& target : rows.targets)
        target = target == 1 ? 6 : 2;
    lasso_case c = logistic_case();
    c.has_label = true;
    c.label = 6;
    check_run(c, rows);
}

// From coefficients of 0 at a small lambda, of classes that a plane nearly divides: full steps go too far.
BOOST_AUTO_TEST_CASE(steps_that_go_too_far_are_taken_back) {
    random_stream random{11};
    matrix_rows rows;
    rows.columns = 2;
    for (int i = 0; i < 400; ++i) {
        const double x = random.normal() * (i % 40 == 0 ? 30 : 1), z = random.normal();
        rows.values.push_back(static_cast<float>(x));
        rows.values.push_back(static_cast<float>(z));
        rows.targets.push_back(i % 40 == 0 ? (x < 0) : (3 * x + z > 0));
    }
    for (const std::uint32_t schedulers : {1u, 2u})
        for (const std::uint32_t window : {0u, 3u}) {
            BOOST_TEST_CONTEXT("schedulers " << schedulers << ", window " << window) {
                lasso_case c = logistic_case();
                c.share = 1e-5;
                c.run.workers = 2;
                c.run.schedulers = schedulers;
                c.run.schedule.window = window;
                const auto ran = check_run(c, rows, 1e-2);
                // A probe after a step that is not taken says what the one before did.
                const auto& all = ran.run.standings;
                const bool is_any_back =
                    std::ranges::adjacent_find(all, [](const auto& a, const auto& b) {
                        return a.numbers[0].value == b.numbers[0].value;
                    }) != all.end();
                BOOST_TEST((is_any_back || (schedulers == 2 && window == 3))); // there they are not
                for (std::size_t i = 1; i < all.size(); ++i)
                    BOOST_TEST(all[i].numbers[0].value <= all[i - 1].numbers[0].value + 1e-12);
            }
        }
}

BOOST_AUTO_TEST_CASE(has_the_same_phases_with_the_same_seed_and_goes_on_from_what_was_saved) {
    const matrix_rows rows = dense_data();
    for (const std::uint32_t schedulers : {1u, 3u})
        for (const bool unit_norm : {false, true}) {
            lasso_case c = logistic_case();
            c.share = 0;
            c.count = 3;
            c.path_ratio = 0.01;
            c.run.unit_norm = unit_norm;
            c.run.stop.gap = 1e-8;
            c.run.workers = 2;
            c.run.schedulers = schedulers;
            c.run.phases_max = 60;
            const auto whole = run_lasso(c, rows), same = run_lasso(c, rows);
            BOOST_REQUIRE((whole.ok() && same.ok()));
            BOOST_TEST((whole->run.changes == same->run.changes));
            for (const std::uint64_t restart : {0u, 1u, 3u, 4u, 7u, 12u, 20u, 33u}) {
                BOOST_TEST_CONTEXT("schedulers " << schedulers << ", restart " << restart) {
                    c.run.restart = restart;
                    const auto parts = run_lasso(c, rows);
                    BOOST_REQUIRE(parts.ok());
                    BOOST_TEST((whole->run.contents == parts->run.contents));
                    BOOST_TEST((whole->run.changes == parts->run.changes));
                }
            }
        }
}

BOOST_AUTO_TEST_CASE(targets_that_are_not_two_classes_are_refused) {
    const auto refusal = [](auto change) {
        matrix_rows rows = dense_data();
        change(rows.targets);
        lasso_case c = logistic_case();
        c.run.workers = 2;
        const auto ran = run_lasso(c, rows);
        BOOST_REQUIRE(!ran.ok());
        BOOST_TEST((ran.failure().code() == errc::data));
        return ran.failure().message();
    };
    BOOST_TEST(refusal([](auto& t) { t.assign(t.size(), 1.0); }).find("one class") !=
               std::string::npos);
    BOOST_TEST(refusal([](auto& t) { t.assign(t.size(), 0.0); }).find("one class") !=
               std::string::npos);
    BOOST_TEST(refusal([](auto& t) { t[7] = 2; }).find("two classes") != std::string::npos);
    BOOST_TEST(refusal([](auto& t) { t[7] = -1; }).find("0, 1 and -1") != std::string::npos);
    BOOST_TEST(refusal([](auto& t) { t[7] = std::nan(""); }).find("infinite or NaN") !=
               std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
