// One update of a shard: what delays, staleness and liars come to in numbers.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "actors/params/shard_update.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/base/random.hpp"
#include "tests/support/seeds.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

struct one_update {
    memory_pool memory{1u << 24};
    const std::unique_ptr<operations> ops = make_reference_operations();
    compute_context context{*ops, memory};
    shard_update_rules rules;
    std::vector<tensor> mean_square;

    one_update() {
        capnp::MallocMessageBuilder message;
        auto description = message.initRoot<proto::Optimizer>();
        description.initSgd().setLearningRate(1);
        rules.optimizer = make_optimizer(description.asReader());
    }

    tensor tensor_of(const std::vector<float>& values) {
        tensor t = tensor::allocate(memory, data_type::float32, {values.size()}).value();
        std::ranges::copy(values, t.mutable_values<float>().begin());
        return t;
    }
    weights_ptr version(std::uint64_t number, const std::vector<float>& values) {
        auto w = std::make_shared<weights>();
        w->version = weight_version{number};
        w->parameters = {tensor_of(values)};
        w->updates = {number};
        return w;
    }
    std::vector<float> update(weights_ptr current, std::vector<pushed_gradients> pushed,
                              float rate = 1) {
        const auto made =
            update_shard(context, rules, std::move(current), std::move(pushed), rate, mean_square)
                .value();
        change = made.change;
        const auto values = made.next->parameters[0].values<float>();
        return {values.begin(), values.end()};
    }
    pushed_gradients push(const std::vector<float>& gradient, std::uint64_t late = 0,
                          weights_ptr pulled = nullptr) {
        return {{tensor_of(gradient)}, late, std::move(pulled)};
    }

    double change = 0;
};

using floats = std::vector<float>;
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

} // namespace

BOOST_AUTO_TEST_SUITE(shard_updates)

BOOST_FIXTURE_TEST_CASE(softsync_divides_each_gradient_by_its_staleness, one_update) {
    rules.rule = {.splits = 1};
    const auto next = update(version(5, {0, 0}), {push({1, 2}, 0), push({4, 8}, 2)});
    BOOST_TEST(next == (floats{-0.5f - 1, -1 - 2}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(backup_workers_take_the_mean, one_update) {
    rules.rule = {.backups = 1};
    const auto next = update(version(0, {0, 0}), {push({1, 2}), push({4, 8})});
    BOOST_TEST(next == (floats{-2.5f, -5}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(value_bounded_tells_the_largest_change, one_update) {
    rules.rule = {.bound = 1.f};
    update(version(0, {1, 1}), {push({0.25f, -0.5f})});
    BOOST_TEST(change == 0.5);
}

BOOST_FIXTURE_TEST_CASE(a_late_gradient_is_corrected_by_how_far_the_weights_have_gone, one_update) {
    rules.compensation = {.compensates = true, .factor = 0.5f, .decay = {}};
    const auto next = update(version(3, {2, 2}), {push({1, -2}, 1, version(2, {1, 3}))});
    // g + 0.5 * g^2 * (2 - 1) = 1.5; -2 + 0.5 * 4 * (2 - 3) = -4
    BOOST_TEST(next == (floats{0.5f, 6}), boost::test_tools::per_element());
}

// The mean of the squares counts gradients that are in time, too.
BOOST_FIXTURE_TEST_CASE(an_adaptive_factor_is_divided_by_the_root_of_the_mean_square, one_update) {
    rules.compensation = {.compensates = true, .factor = 0.5f, .decay = 0.75f};
    // m = 0.25 * (4, 16): 2 + 0.5 / 1 * 4 * (2 - 1) = 4; 4 + 0.5 / 2 * 16 * (2 - 3) = 0
    auto next = update(version(3, {2, 2}), {push({2, 4}, 1, version(2, {1, 3}))});
    BOOST_TEST(std::abs(next[0] + 2) < 1e-5f);
    BOOST_TEST(std::abs(next[1] - 2) < 1e-5f);
    // m = (0.75 + 0.25, 3)
    next = update(version(4, {-2, 2}), {push({1, 0})});
    BOOST_TEST(next == (floats{-3, 2}), boost::test_tools::per_element());
    // m = (0.75 + 0.25, 2.25 + 4): -1 + 0.5 / 1 * 1 * 2 = 0; 4 + 0.5 / 2.5 * 16 * 0.5 = 5.6
    next = update(version(5, {-3, 2}), {push({-1, 4}, 2, version(3, {-5, 1.5f}))});
    BOOST_TEST(std::abs(next[0] + 3) < 1e-5f);
    BOOST_TEST(std::abs(next[1] - (2 - 5.6f)) < 1e-5f);
}

BOOST_DATA_TEST_CASE(without_delay_or_without_a_factor_it_is_plain_descent_bit_by_bit,
                     bdata::make({false, true}) * bdata::xrange(1000), adapts, seed) {
    one_update u;
    random_stream random{static_cast<std::uint64_t>(seed) + 1};
    const auto numbers = [&] {
        floats values(3);
        for (float& v : values)
            v = static_cast<float>(random.normal());
        return values;
    };
    const floats weights = numbers(), gradient = numbers(), older = numbers();
    const auto plain = u.update(u.version(4, weights), {u.push(gradient, 0)}, 0.1f);
    u.rules.compensation = {.compensates = true, .factor = 0.04f, .decay = {}};
    if (adapts)
        u.rules.compensation.decay = 0.95f;
    const auto in_time =
        u.update(u.version(4, weights), {u.push(gradient, 0, u.version(4, weights))}, 0.1f);
    BOOST_TEST((in_time == plain));
    const auto late =
        u.update(u.version(4, weights), {u.push(gradient, 2, u.version(2, older))}, 0.1f);
    BOOST_TEST((late != plain));
    u.rules.compensation.factor = 0;
    const auto without =
        u.update(u.version(4, weights), {u.push(gradient, 2, u.version(2, older))}, 0.1f);
    BOOST_TEST((without == plain));
}

// Of logistic loss log(1 + exp(-y x w)) the square of the gradient stands for the second derivative.
BOOST_AUTO_TEST_CASE(what_is_corrected_is_nearer_to_the_gradient_of_the_newer_weights, *seeded) {
    const seed_range seeds{1000};
    double stale = 0, corrected = 0;
    for (const std::uint64_t seed : seeds) {
        one_update u;
        random_stream random{seed};
        const float old = static_cast<float>(random.normal());
        const float now = old + 0.2f * static_cast<float>(random.normal());
        // Mean over samples labelled by a true model, whose squared gradients are their curvature on average.
        const auto slope = [](float w, float x, float y) {
            return -y * x / (1 + std::exp(y * x * w));
        };
        const float x = static_cast<float>(random.normal());
        const float y =
            random.uniform() < 1 / (1 + std::exp(-double{x} * double{now})) ? 1.f : -1.f;
        const float g = slope(old, x, y);
        u.rules.compensation = {.compensates = true, .factor = 1, .decay = {}};
        const float used =
            now - u.update(u.version(1, {now}), {u.push({g}, 1, u.version(0, {old}))})[0];
        // Against what is expected of the newer weights over both labels of this x.
        const auto expected = [&](float w) {
            const float p = 1 / (1 + std::exp(-x * now));
            return p * slope(w, x, 1) + (1 - p) * slope(w, x, -1);
        };
        const double drift = double{expected(now)} - double{expected(old)};
        stale += drift * drift;
        const double left = drift - (double{used} - double{g});
        corrected += left * left;
    }
    if (!seeds.are_few())
        BOOST_TEST(corrected < stale);
}

// Six workers of whom one sends nonsense.
BOOST_AUTO_TEST_CASE(a_lying_worker_moves_the_mean_alone) {
    using rule = aggregation::rule;
    for (const aggregation how : {aggregation{}, aggregation{.by = rule::median},
                                  aggregation{.by = rule::trimmed_mean, .trim = 1},
                                  aggregation{.by = rule::krum, .liars = 1}}) {
        for (const floats& lie :
             {floats{1e9f, -1e9f}, floats{no_number, no_number}, floats{-30, 20}}) {
            one_update u;
            u.rules.rule = {.backups = 0};
            u.rules.how = how;
            std::vector<pushed_gradients> pushed;
            for (const float x : {0.9f, 1.0f, 1.1f, 0.95f, 1.05f})
                pushed.push_back(u.push({x, -x}));
            pushed.insert(pushed.begin() + 2, u.push(lie));
            const auto next = u.update(u.version(0, {0, 0}), std::move(pushed));
            const bool near = std::abs(next[0] + 1) < 0.2f && std::abs(next[1] - 1) < 0.2f;
            BOOST_TEST(near == (how.by != rule::mean));
        }
    }
}

BOOST_AUTO_TEST_CASE(krum_chooses_whose_neighbours_are_nearest) {
    // On a line at 0, 1, 2, 3, 100: of 5 with one liar the two nearest others count.
    const double at[] = {3, 100, 1, 2, 0};
    std::vector<double> distances;
    for (const double a : at)
        for (const double b : at)
            distances.push_back((a - b) * (a - b));
    BOOST_TEST(krum_choice(distances, 5, 1) == 2u);
    for (double& d : distances)
        d = static_cast<double>(no_number);
    BOOST_TEST(krum_choice(distances, 5, 1) == 0u);
    BOOST_TEST((aggregation{.by = aggregation::rule::krum, .liars = 2}.needs_of(9)) == 7u);
    BOOST_TEST((aggregation{.by = aggregation::rule::median}.needs_of(5)) == 3u);
    BOOST_TEST((aggregation{.by = aggregation::rule::trimmed_mean, .trim = 2}.needs_of(9)) == 5u);
    BOOST_TEST(aggregation{}.needs_of(9) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
