// Logistic regression in its parts: a row, the bound of the gap, the rows of a worker, and which steps are taken.
#include <array>
#include <cmath>
#include <numeric>

#include <boost/test/unit_test.hpp>

#include "apps/lasso/fit_sums.hpp"
#include "apps/lasso/lasso_rows.hpp"
#include "apps/lasso/logistic.hpp"
#include "apps/lasso/newton_steps.hpp"
#include "apps/lasso/row_fit.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::lasso;

namespace {

// As their definitions have them, of margins of moderate size.
double plain_loss(double margin, bool is_one) {
    return std::log(1 + std::exp(margin)) - (is_one ? margin : 0);
}
double entropy(double q) {
    return (q > 0 ? q * std::log(q) : 0) + (q < 1 ? (1 - q) * std::log(1 - q) : 0);
}

// Two columns of a few rows, as `row_fit` reads them.
struct small_data {
    static constexpr std::size_t rows = 12;
    memory_pool memory{1u << 20};
    std::vector<float> values;
    std::vector<bool> is_one;

    small_data() {
        random_stream random{5};
        for (std::size_t i = 0; i < rows; ++i) {
            values.push_back(static_cast<float>(random.normal()));
            values.push_back(static_cast<float>(random.normal()));
            is_one.push_back(i % 3 == 0);
        }
    }
    shifted_columns columns() {
        auto builder = dense_columns_builder::make(memory, {rows, 2}).value();
        BOOST_REQUIRE(builder.append(rows, values).ok());
        return shifted_columns{{builder.finish().value(), {}}};
    }
    std::unique_ptr<lasso_rows> part() {
        std::vector<double> targets;
        for (const bool one : is_one)
            targets.push_back(one ? 1 : 0);
        auto made = std::make_unique<lasso_rows>(rows_options{.memory = &memory,
                                                              .loss = loss_kind::logistic,
                                                              .label = {},
                                                              .columns = 2,
                                                              .rows = rows,
                                                              .variables = {{0, 2}}});
        const auto piece = scheduled::payload_of(memory, std::vector<std::int64_t>{},
                                                 std::vector<std::int32_t>{}, values, targets);
        BOOST_REQUIRE(made->take_data(piece.value()).ok());
        BOOST_REQUIRE(made->data_is_complete().ok());
        return made;
    }
    double margin(std::size_t i, double a, double b, double constant) const {
        return a * static_cast<double>(values[2 * i]) + b * static_cast<double>(values[2 * i + 1]) +
               constant;
    }
};

void check_weighing(small_data& data, compute_context& context) {
    const auto computes = data.part(), passes = data.part();
    const scheduled::phase probe{1, true, to_payload(data.memory, probe_request{true}).value()};
    const scheduled::phase later{3, true, to_payload(data.memory, probe_request{}).value()};
    const update_request request{
        .chosen = {0, 1}, .gram = {{.rows = {0, 1}, .columns = {}}}, .columns = {}};
    const scheduled::phase update{4, false, to_payload(data.memory, request).value()};
    const std::vector<std::int32_t> both{0, 1};
    const std::array step{0.3, -0.4};
    const auto moved = to_payload(
        data.memory,
        changes{.columns = both, .deltas = step, .before = std::array{0.0, 0.0}, .shift = 0.1});
    for (const auto& part : {computes.get(), passes.get()}) {
        const auto go = [&](const scheduled::phase& p) {
            BOOST_TEST((part == computes.get() ? part->probe(p, 0, context).ok()
                                               : part->pass(p, 1, context).ok()));
        };
        go(probe);
        BOOST_REQUIRE(part->apply({2, moved.value()}).ok());
        const auto taken = data.memory.statistics().allocations_total;
        go(later);
        if (part == passes.get())
            BOOST_TEST(data.memory.statistics().allocations_total == taken);
    }
    const auto expected = computes->push(update, context), found = passes->push(update, context);
    BOOST_REQUIRE(expected.ok() && found.ok());
    const auto a = read_update_partial(*expected, request),
               b = read_update_partial(*found, request);
    BOOST_REQUIRE(a.ok() && b.ok());
    BOOST_TEST(a->products == b->products, boost::test_tools::per_element());
    BOOST_TEST(a->gram.products == b->gram.products, boost::test_tools::per_element());
    // By the weights of the later probe.
    double product = 0;
    for (std::size_t i = 0; i < data.rows; ++i)
        product += logistic_row_of(data.margin(i, 0.3, -0.4, 0.1), data.is_one[i]).weight *
                   static_cast<double>(data.values[2 * i] * data.values[2 * i + 1]);
    BOOST_REQUIRE(a->gram.products.size() == 1u);
    BOOST_TEST(a->gram.products[0] == product, boost::test_tools::tolerance(1e-5));
}

} // namespace

BOOST_AUTO_TEST_SUITE(lasso_logistic)

BOOST_AUTO_TEST_CASE(a_row_has_the_loss_and_its_two_derivatives) {
    const auto tolerance = boost::test_tools::tolerance(1e-12);
    for (const bool is_one : {false, true})
        for (const double margin : {-20.0, -3.0, -0.5, 0.0, 1e-9, 0.7, 4.0, 20.0}) {
            BOOST_TEST_CONTEXT("margin " << margin << ", class " << is_one) {
                const logistic_row row = logistic_row_of(margin, is_one);
                const double p = 1 / (1 + std::exp(-margin));
                BOOST_TEST(row.loss == plain_loss(margin, is_one),
                           boost::test_tools::tolerance(1e-6));
                const auto slope = [&](double m) { return logistic_row_of(m, is_one).residual; };
                const auto loss = [&](double m) { return logistic_row_of(m, is_one).loss; };
                const double h = 1e-4;
                BOOST_TEST(std::abs((loss(margin + h) - loss(margin - h)) / (2 * h) +
                                    row.residual) < 1e-8);
                BOOST_TEST(std::abs((slope(margin + h) - slope(margin - h)) / (2 * h) +
                                    row.weight) < 1e-8);
                if (std::abs(margin) < 5) {
                    BOOST_TEST(row.residual == (is_one ? 1 - p : -p), tolerance);
                    BOOST_TEST(row.weight == p * (1 - p), tolerance);
                }
                BOOST_TEST(row.spread == row.residual * row.residual / row.weight, tolerance);
                BOOST_TEST(probability_of(margin) == p, tolerance);
            }
        }
}

BOOST_AUTO_TEST_CASE(margins_of_any_size_have_numbers) {
    for (const double margin : {-1e300, -1e4, -700.0, 700.0, 1e4, 1e300})
        for (const bool is_one : {false, true}) {
            const logistic_row row = logistic_row_of(margin, is_one);
            BOOST_TEST(std::isfinite(row.loss));
            BOOST_TEST(std::isfinite(row.spread));
            BOOST_TEST(row.weight > 0);
            const bool is_wrong = is_one == (margin < 0);
            BOOST_TEST(std::abs(row.loss - (is_wrong ? std::abs(margin) : 0.0)) < 1e-300);
        }
}

// The dual objective at c (v - w s), term by term, beside the bound from sums.
BOOST_AUTO_TEST_CASE(the_gap_is_never_below_that_of_its_dual_point_and_close_to_it_at_the_end) {
    random_stream random{3};
    for (const bool has_intercept : {false, true})
        for (const double size : {1e-4, 1e-2, 0.3, 2.0, 10.0})
            for (const double c : {1.0, 1 - 1e-5, 0.99, 0.7, 0.1}) {
                BOOST_TEST_CONTEXT("intercept " << has_intercept << ", size " << size << ", c "
                                                << c) {
                    constexpr std::size_t rows = 60;
                    std::vector<logistic_row> all;
                    std::vector<double> margins;
                    std::vector<bool> ones;
                    // Margins around where the sum of the residuals is 0, for so many of each class.
                    for (std::size_t i = 0; i < rows; ++i) {
                        const bool is_one = i % 2 == 0;
                        margins.push_back((is_one ? 1 : -1) * 2 * random.uniform() +
                                          size * (random.uniform() - 0.4));
                        ones.push_back(is_one);
                        all.push_back(logistic_row_of(margins.back(), is_one));
                    }
                    logistic_point at;
                    double sum = 0;
                    for (const logistic_row& row : all) {
                        at.loss += row.loss;
                        at.weight += row.weight;
                        at.spread += row.spread;
                        sum += row.residual;
                    }
                    if (has_intercept)
                        at.shift = sum / at.weight;
                    at.spread -= at.shift * at.shift * at.weight;
                    double exact = 0;
                    bool is_inside = true;
                    for (std::size_t i = 0; i < rows; ++i) {
                        const double y = ones[i] ? 1 : 0, p = y - all[i].residual;
                        const double q = y - c * (all[i].residual - all[i].weight * at.shift);
                        is_inside = is_inside && q >= 0 && q <= 1;
                        exact += entropy(q) - entropy(p) - margins[i] * (q - p);
                    }
                    const double bound = logistic_gap(at, c);
                    if (std::abs(at.shift) < 1)
                        BOOST_TEST(is_inside);
                    BOOST_TEST(bound >= exact - 1e-12);
                    if (c > 0.98 && std::abs(at.shift) < 0.01)
                        BOOST_TEST(bound <= 2 * exact + 1e-9);
                }
            }
}

BOOST_AUTO_TEST_CASE(a_problem_is_the_loss_to_the_second_order) {
    small_data data;
    const shifted_columns columns = data.columns();
    const auto fit = make_row_fit(loss_kind::logistic, true, std::nullopt);
    for (const bool is_one : data.is_one)
        BOOST_REQUIRE(fit->take(is_one ? 1 : -1).ok());
    fit->begin();
    const std::vector<std::uint32_t> both{0, 1};
    const std::array start{0.3, -0.4}, step{1e-3, 2e-3};
    fit->move(columns, both, start, 0.2);
    const row_sums before = fit->renew();
    BOOST_TEST(before.ones == 4);
    BOOST_TEST(before.minus == 8);
    BOOST_TEST(before.zeros == 0);
    double loss = 0;
    for (std::size_t i = 0; i < data.rows; ++i)
        loss += plain_loss(data.margin(i, 0.3, -0.4, 0.2), data.is_one[i]);
    BOOST_TEST(before.loss == loss, boost::test_tools::tolerance(1e-13));
    // The model's decrease beside the loss', and its residual beside the new one.
    const auto weighted = columns.weighted(data.memory, fit->weights()).value();
    std::vector<double> products(2), gram(4);
    columns.products(both, fit->residual(), fit->residual_sum(), products);
    column_workspace memory;
    weighted.gram(both, gram, memory);
    double square = 0;
    for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 2; ++j)
            square += step[i] * step[j] * gram[2 * i + j];
    fit->move(columns, both, step, 0);
    const std::vector<double> expected{fit->residual().begin(), fit->residual().end()};
    const row_sums after = fit->renew();
    const double decrease = step[0] * products[0] + step[1] * products[1] - square / 2;
    BOOST_TEST(std::abs(before.loss - after.loss - decrease) < 1e-8);
    for (std::size_t i = 0; i < expected.size(); ++i)
        BOOST_TEST(std::abs(expected[i] - fit->residual()[i]) < 1e-5);
    BOOST_TEST(after.intercept == 0.2);
    std::vector<double> sums(2), squares(2);
    weighted.sums(both, sums);
    weighted.squares(both, squares);
    BOOST_TEST(squares[0] == gram[0], boost::test_tools::tolerance(1e-6));
    double sum = 0;
    for (std::size_t i = 0; i < data.rows; ++i)
        sum += static_cast<double>(data.values[2 * i]) *
               logistic_row_of(data.margin(i, 0.3, -0.4, 0.2), data.is_one[i]).weight;
    BOOST_TEST(sums[0] == sum, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(columns_are_weighted_when_their_products_are_asked_for) {
    small_data data;
    const monotonic_time time;
    make_cpu_device({.memory_bytes_max = 1u << 20}, time)
        .value()
        ->submit({[&](compute_context& context) -> result<void> {
                      check_weighing(data, context);
                      return {};
                  },
                  [](const result<void>&, duration) {}}); // and waits
}

BOOST_AUTO_TEST_CASE(rows_refuse_targets_that_are_no_class) {
    const auto takes = [](std::optional<double> label, double target) {
        const auto fit = make_row_fit(loss_kind::logistic, true, label);
        const auto taken = fit->take(target);
        BOOST_TEST((taken.ok() || taken.failure().code() == errc::data));
        return taken.ok();
    };
    for (const double target : {0.0, 1.0, -1.0})
        BOOST_TEST(takes(std::nullopt, target));
    for (const double target : {2.0, 0.5, -2.0})
        BOOST_TEST(!takes(std::nullopt, target));
    BOOST_TEST(takes(7.0, 2.0));
}

BOOST_AUTO_TEST_CASE(a_saved_fit_is_of_the_same_rows_with_weights) {
    memory_pool pool{1u << 20};
    const auto made = [](std::size_t rows) {
        auto fit = make_row_fit(loss_kind::logistic, true, std::nullopt);
        for (std::size_t i = 0; i < rows; ++i)
            BOOST_REQUIRE(fit->take(i % 2 == 0 ? 1 : 0).ok());
        fit->begin();
        return fit;
    };
    scheduled::state_writer write{pool};
    made(3)->save(write);
    auto saved = std::move(write).finish().value();
    BOOST_TEST(made(3)->load(saved).ok());
    BOOST_TEST(!made(4)->load(saved).ok());
    BOOST_TEST(!made(3)->load({}).ok());
    const std::vector<double> zeros(3);
    for (std::size_t i = 0; i < saved.names.size(); ++i)
        if (saved.names[i] == "weights")
            saved.tensors[i] = scheduled::numbers_of<double>(pool, zeros).value();
    BOOST_TEST(!made(3)->load(saved).ok());
}

BOOST_AUTO_TEST_CASE(steps_that_make_the_objective_larger_are_halved) {
    newton_steps steps;
    BOOST_TEST(!steps.is_too_far(1e300)); // nothing to go back to
    steps.take({1, 0}, 0.5, 10);
    BOOST_TEST(!steps.is_too_far(10));
    BOOST_TEST(!steps.is_too_far(9));
    BOOST_TEST(steps.is_too_far(10.001));
    BOOST_TEST(steps.is_too_far(std::nan("")));
    steps.go_back({3, 4}, 1.5);
    BOOST_TEST(steps.is_going_back());
    BOOST_TEST((steps.targets() == std::vector<double>{2, 2}));
    BOOST_TEST(steps.target_intercept() == 1);
    newton_steps loaded;
    BOOST_TEST(loaded.load(steps.save(), 2));
    BOOST_TEST((loaded.save() == steps.save()));
    BOOST_TEST(!newton_steps{}.load(steps.save(), 3));
    BOOST_TEST(!newton_steps{}.load({}, 2));
    BOOST_TEST(newton_steps{}.load(newton_steps{}.save(), 2));
    steps.go_back(steps.targets(), 1);
    BOOST_TEST((steps.targets() == std::vector<double>{1.5, 1}));
    for (int i = 2; i < 40; ++i) {
        BOOST_TEST(steps.is_too_far(11));
        steps.go_back(steps.targets(), 1);
    }
    BOOST_TEST(!steps.is_too_far(11)); // no further
    steps.take({1, 1}, 1, 11);
    BOOST_TEST(!steps.is_going_back());
}

BOOST_AUTO_TEST_SUITE_END()
