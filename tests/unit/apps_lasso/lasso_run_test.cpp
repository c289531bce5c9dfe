// Whole runs of lasso, on several workers and schedulers and with several windows, beside plain coordinate descent.
#include <boost/test/unit_test.hpp>

#include "tests/unit/apps_lasso/lasso_runs.hpp"

using namespace troupe;
using namespace troupe::test;
using scheduled::coupling;
using scheduled::schedule_kind;

namespace {

matrix_rows dense_data() {
    return made_rows({.rows = 200, .columns = 50, .group = 5, .likeness = 0.9});
}
matrix_rows sparse_data() {
    return made_rows({.rows = 500, .columns = 1000, .share = 0.05, .group = 10, .likeness = 0.95});
}

// One solution: with the objective of plain coordinate descent, and the conditions of the optimum.
lasso_result check_beside(const plain_solution& plain, const lasso_case& c, const matrix_rows& rows,
                          double tolerance = 1e-13) {
    auto ran = run_lasso(c, rows);
    BOOST_REQUIRE_MESSAGE(ran.ok(), (ran.ok() ? "" : ran.failure().message()));
    BOOST_TEST(ran->run.is_done);
    BOOST_REQUIRE(ran->solutions.size() == 1u);
    const lasso::solution& s = ran->solutions.front();
    const plain_check check = check_plainly(c, rows, s);
    BOOST_TEST_MESSAGE("phases " << ran->run.phases << ", probes " << ran->run.standings.size()
                                 << ", in use " << s.columns.size());
    BOOST_TEST(std::abs(s.numbers.lambda / plain.lambda - 1) < 10 * tolerance);
    BOOST_TEST(std::abs(check.objective / plain.objective - 1) < tolerance);
    BOOST_TEST(std::abs(s.numbers.objective / plain.objective - 1) < 10 * tolerance);
    BOOST_TEST(check.violation < 1e-6);
    BOOST_TEST(std::abs(s.numbers.intercept - plain.intercept) < 1e-6);
    return std::move(*ran);
}

lasso_result check_beside_plain(const lasso_case& c, const matrix_rows& rows,
                                double tolerance = 1e-13) {
    return check_beside(plain_descent(c, rows), c, rows, tolerance);
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_run)

BOOST_AUTO_TEST_CASE(finds_the_optimum_on_any_number_of_workers_and_schedulers_with_any_window) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse}) {
        const plain_solution plain = plain_descent(precise_case(), *rows);
        for (const std::uint32_t workers : {1u, 2u, 4u})
            for (const std::uint32_t schedulers : {1u, 3u})
                for (const std::uint32_t window : {0u, 2u, 8u}) {
                    BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                       << ", workers " << workers << ", schedulers " << schedulers
                                       << ", window " << window) {
                        lasso_case c = precise_case();
                        c.run.workers = workers;
                        c.run.schedulers = schedulers;
                        c.run.schedule.window = window;
                        check_beside(plain, c, *rows);
                    }
                }
    }
}

// Above, sparse columns are gathered; here so many of them as fit, and otherwise products are asked for.
BOOST_AUTO_TEST_CASE(finds_the_optimum_with_room_for_the_entries_of_few_columns) {
    const matrix_rows rows = sparse_data();
    const plain_solution plain = plain_descent(precise_case(), rows);
    for (const std::size_t entries_max : {std::size_t{0}, std::size_t{4000}, std::size_t{8000}})
        for (const std::uint32_t schedulers : {1u, 3u})
            for (const std::uint32_t window : {0u, 2u}) {
                BOOST_TEST_CONTEXT("entries " << entries_max << ", schedulers " << schedulers
                                              << ", window " << window) {
                    lasso_case c = precise_case();
                    c.gathered_entries_max = entries_max;
                    c.run.workers = 2;
                    c.run.schedulers = schedulers;
                    c.run.schedule.window = window;
                    check_beside(plain, c, rows);
                }
            }
}

BOOST_AUTO_TEST_CASE(finds_the_optimum_by_sets_of_a_few_variables) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse}) {
        const plain_solution plain = plain_descent(precise_case(), *rows);
        for (const schedule_kind kind : {schedule_kind::dynamic, schedule_kind::cyclic})
            for (const std::uint32_t schedulers : {1u, 3u})
                for (const std::uint32_t set : {1u, 4u, 16u}) {
                    BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                       << (kind == schedule_kind::cyclic ? ", cyclic" : ", dynamic")
                                       << ", schedulers " << schedulers << ", set " << set) {
                        lasso_case c = precise_case();
                        c.run.workers = 2;
                        c.run.schedulers = schedulers;
                        c.run.schedule.kind = kind;
                        c.run.schedule.window = 3;
                        c.run.schedule.set = set;
                        check_beside(plain, c, *rows);
                    }
                }
    }
}

BOOST_AUTO_TEST_CASE(finds_the_optimum_with_room_for_the_products_of_a_few_variables) {
    const matrix_rows rows = made_rows({.rows = 200, .columns = 50});
    for (const schedule_kind kind : {schedule_kind::dynamic, schedule_kind::cyclic})
        for (const std::uint32_t window : {0u, 2u}) {
            BOOST_TEST_CONTEXT((kind == schedule_kind::cyclic ? "cyclic" : "dynamic")
                               << ", window " << window) {
                lasso_case c = precise_case();
                c.share = 0.001;
                c.gram_entries_max = 400; // 25 variables of each scheduler meet 50
                c.run.workers = 2;
                c.run.schedulers = 2;
                c.run.phases_max = 5000;
                c.run.schedule.kind = kind;
                c.run.schedule.window = window;
                check_beside_plain(c, rows, 1e-12);
            }
        }
}

BOOST_AUTO_TEST_CASE(finds_the_optimum_when_correlated_variables_are_left_out) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse}) {
        const plain_solution plain = plain_descent(precise_case(), *rows);
        for (const std::uint32_t schedulers : {1u, 3u})
            for (const std::uint32_t window : {0u, 2u}) {
                BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                   << ", schedulers " << schedulers << ", window " << window) {
                    lasso_case c = precise_case();
                    c.run.workers = 2;
                    c.run.schedulers = schedulers;
                    c.run.schedule.window = window;
                    c.run.schedule.couple = coupling::check;
                    c.run.schedule.rho = 0.3;
                    check_beside(plain, c, *rows);
                }
            }
    }
}

BOOST_AUTO_TEST_CASE(fits_an_elastic_net) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse})
        for (const double ratio : {0.9, 0.5, 0.1})
            for (const std::uint32_t schedulers : {1u, 3u}) {
                BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                   << ", ratio " << ratio << ", schedulers " << schedulers) {
                    lasso_case c = precise_case();
                    c.ratio = ratio;
                    c.run.workers = 2;
                    c.run.schedulers = schedulers;
                    check_beside_plain(c, *rows);
                }
            }
}

BOOST_AUTO_TEST_CASE(fits_without_an_intercept_with_unit_norms_and_with_large_means) {
    for (const double mean : {0.0, 3.0, 1000.0})
        for (const bool intercept : {false, true})
            for (const bool unit_norm : {false, true}) {
                if (mean > 100 && !intercept)
                    continue; // columns that are all alike
                const matrix_rows rows = made_rows(
                    {.rows = 200, .columns = 50, .group = 5, .likeness = 0.9, .mean = mean});
                lasso_case c = precise_case();
                c.intercept = intercept;
                c.run.unit_norm = unit_norm;
                c.run.workers = 2;
                const plain_solution plain = plain_descent(c, rows);
                for (const std::uint32_t set : {0u, 4u})
                    BOOST_TEST_CONTEXT("mean " << mean << (intercept ? ", intercept" : "")
                                               << (unit_norm ? ", unit norm" : "") << ", set "
                                               << set) {
                        c.run.schedule.set = set;
                        c.run.schedule.window = 4;
                        check_beside(plain, c, rows, mean > 100 ? 1e-9 : 1e-12);
                    }
            }
}

BOOST_AUTO_TEST_CASE(reports_the_objective_and_the_gap_of_the_coefficients_that_it_leaves) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse})
        for (const double ratio : {1.0, 0.5})
            for (const std::uint32_t schedulers : {1u, 3u})
                for (const double gap : {0.3, 0.1, 1e-2, 1e-3}) {
                    BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                       << ", ratio " << ratio << ", schedulers " << schedulers
                                       << ", gap " << gap) {
                        lasso_case c;
                        c.share = 0.02;
                        c.ratio = ratio;
                        c.run.stop.gap = gap;
                        c.run.workers = 2;
                        c.run.schedulers = schedulers;
                        c.run.schedule.set = 4;
                        c.run.schedule.window = 5;
                        const auto ran = run_lasso(c, *rows);
                        BOOST_REQUIRE(ran.ok());
                        const lasso::solution& s = ran->solutions.front();
                        const plain_check check = check_plainly(c, *rows, s);
                        BOOST_TEST(s.numbers.gap <= gap);
                        BOOST_TEST(std::abs(s.numbers.objective / check.objective - 1) < 1e-12);
                        BOOST_TEST(std::abs(s.numbers.gap / check.gap - 1) < 1e-9);
                    }
                }
}

BOOST_AUTO_TEST_CASE(never_uses_a_constant_column) {
    matrix_rows rows = dense_data();
    for (std::uint64_t i = 0; i < rows.rows(); ++i) {
        rows.values[i * rows.columns + 3] = 0.1f;
        rows.values[i * rows.columns + 7] = 0;
    }
    for (const bool unit_norm : {false, true}) {
        lasso_case c = precise_case();
        c.share = 1e-3;
        c.run.unit_norm = unit_norm;
        c.run.workers = 3;
        const lasso_result ran = check_beside_plain(c, rows, 1e-12);
        for (const std::int32_t column : ran.solutions.front().columns)
            BOOST_TEST((column != 3 && column != 7));
    }
}

BOOST_AUTO_TEST_CASE(fits_one_label_against_the_rest) {
    matrix_rows rows = dense_data();
    for (std::size_t i = 0; i < rows.targets.size(); ++i)
        rows.targets[i] = rows.targets[i] > 6 ? 7 : rows.targets[i] > 3 ? 2 : 1;
    lasso_case c = precise_case();
    c.has_label = true;
    c.label = 7;
    check_beside_plain(c, rows);
}

BOOST_AUTO_TEST_CASE(is_done_at_once_when_no_coefficient_is_worth_its_penalty) {
    lasso_case c;
    c.lambda = 1e6;
    c.run.stop.gap = 1e-6;
    const auto ran = run_lasso(c, dense_data());
    BOOST_REQUIRE(ran.ok());
    BOOST_TEST(ran->run.phases == 1u);
    BOOST_TEST(ran->solutions.front().columns.empty());
    BOOST_TEST(ran->solutions.front().numbers.gap == 0);
}

BOOST_AUTO_TEST_CASE(follows_a_path_of_lambdas) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse})
        for (const double ratio : {1.0, 0.5})
            for (const std::uint32_t schedulers : {1u, 3u}) {
                BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                   << ", ratio " << ratio << ", schedulers " << schedulers) {
                    lasso_case c;
                    c.count = 12;
                    c.path_ratio = 0.05;
                    c.ratio = ratio;
                    c.run.stop.gap = 1e-10;
                    c.run.workers = 2;
                    c.run.schedulers = schedulers;
                    const auto ran = run_lasso(c, *rows);
                    BOOST_REQUIRE_MESSAGE(ran.ok(), (ran.ok() ? "" : ran.failure().message()));
                    BOOST_TEST(ran->run.is_done);
                    BOOST_REQUIRE(ran->solutions.size() == 12u);
                    BOOST_TEST(ran->solutions.front().columns.empty());
                    for (std::size_t i = 0; i < ran->solutions.size(); i += 3) {
                        const lasso::solution& s = ran->solutions[i];
                        const plain_solution plain = plain_descent(c, *rows, s.numbers.lambda);
                        const plain_check check = check_plainly(c, *rows, s);
                        BOOST_TEST(s.numbers.gap <= 1e-10);
                        BOOST_TEST(std::abs(check.objective / plain.objective - 1) < 1e-9);
                        BOOST_TEST(std::abs(s.numbers.objective / check.objective - 1) < 1e-12);
                    }
                    const double steps = ran->solutions.back().numbers.lambda /
                                         ran->solutions.front().numbers.lambda;
                    BOOST_TEST(std::abs(steps / 0.05 - 1) < 1e-12);
                }
            }
}

// Whole numbers have exact products, from which all lambdas follow: with every form of the columns, also where a run goes on
// from what it has saved.
BOOST_AUTO_TEST_CASE(solves_a_path_of_whole_numbers_between_two_probes) {
    matrix_rows rows = dense_data();
    for (float& v : rows.values)
        v = std::round(20 * v);
    for (const bool intercept : {true, false})
        for (const bool unit_norm : {false, true})
            for (const double ratio : {1.0, 0.5}) {
                BOOST_TEST_CONTEXT("intercept " << intercept << ", unit norm " << unit_norm
                                                << ", ratio " << ratio) {
                    lasso_case c;
                    c.count = 40;
                    c.path_ratio = 0.01;
                    c.ratio = ratio;
                    c.intercept = intercept;
                    c.run.unit_norm = unit_norm;
                    c.run.stop.gap = 1e-10;
                    c.run.workers = 2;
                    const auto ran = run_lasso(c, rows);
                    BOOST_REQUIRE_MESSAGE(ran.ok(), (ran.ok() ? "" : ran.failure().message()));
                    BOOST_TEST(ran->run.is_done);
                    BOOST_TEST(ran->run.standings.size() == 2u);
                    BOOST_REQUIRE(ran->solutions.size() == 40u);
                    for (const lasso::solution& s : ran->solutions) {
                        const plain_check check = check_plainly(c, rows, s);
                        BOOST_TEST(s.numbers.gap <= 1e-10);
                        BOOST_TEST(check.gap <= 2e-10);
                        BOOST_TEST(std::abs(check.gap - s.numbers.gap) < 1e-13);
                        BOOST_TEST(std::abs(s.numbers.objective / check.objective - 1) < 1e-12);
                        BOOST_TEST(s.numbers.used == static_cast<double>(s.columns.size()));
                    }
                    for (const std::uint64_t restart : {1u, 3u}) {
                        c.run.restart = restart;
                        const auto again = run_lasso(c, rows);
                        BOOST_REQUIRE(again.ok());
                        BOOST_TEST((again->run.changes == ran->run.changes));
                    }
                }
            }
}

// Rounding in their products would be in the gaps.
BOOST_AUTO_TEST_CASE(probes_each_lambda_where_products_are_not_exact) {
    matrix_rows rows = dense_data();
    for (float& v : rows.values)
        v = std::round(20 * v) + 0.5f;
    lasso_case c;
    c.count = 10;
    c.path_ratio = 0.01;
    c.run.stop.gap = 1e-10;
    const auto ran = run_lasso(c, rows);
    BOOST_REQUIRE(ran.ok());
    BOOST_TEST(ran->run.is_done);
    BOOST_TEST(ran->run.standings.size() >= 8u);
}

BOOST_AUTO_TEST_CASE(has_the_same_phases_with_the_same_seed) {
    const matrix_rows rows = dense_data();
    lasso_case c = precise_case();
    c.run.workers = 2;
    c.run.schedulers = 2;
    c.run.schedule.set = 4;
    const auto one = run_lasso(c, rows), same = run_lasso(c, rows);
    c.run.seed = 2;
    const auto other = run_lasso(c, rows);
    BOOST_REQUIRE((one.ok() && same.ok() && other.ok()));
    BOOST_TEST((one->run.contents == same->run.contents));
    BOOST_TEST((one->run.changes == same->run.changes));
    BOOST_TEST((one->run.contents != other->run.contents));
}

BOOST_AUTO_TEST_CASE(goes_on_to_the_bit_from_what_was_saved) {
    const matrix_rows dense = dense_data(), sparse = sparse_data();
    for (const matrix_rows* rows : {&dense, &sparse})
        for (const std::uint32_t set : {0u, 4u})
            for (const std::uint32_t schedulers : {1u, 3u})
                for (const coupling couple : {coupling::exact, coupling::check})
                    for (const std::uint64_t restart : {0u, 1u, 3u, 7u, 20u, 33u}) {
                        BOOST_TEST_CONTEXT((rows == &dense ? "dense" : "sparse")
                                           << ", set " << set << ", schedulers " << schedulers
                                           << (couple == coupling::check ? ", check" : ", exact")
                                           << ", restart " << restart) {
                            lasso_case c;
                            c.count = 3;
                            c.path_ratio = 0.1;
                            c.ratio = 0.95;
                            c.run.stop.gap = 1e-8;
                            c.run.workers = 2;
                            c.run.schedulers = schedulers;
                            c.run.schedule.set = set;
                            c.run.schedule.couple = couple;
                            c.run.phases_max = 60;
                            const auto whole = run_lasso(c, *rows);
                            c.run.restart = restart;
                            const auto parts = run_lasso(c, *rows);
                            BOOST_REQUIRE((whole.ok() && parts.ok()));
                            BOOST_TEST((whole->run.contents == parts->run.contents));
                            BOOST_TEST((whole->run.changes == parts->run.changes));
                        }
                    }
}

BOOST_AUTO_TEST_SUITE_END()
