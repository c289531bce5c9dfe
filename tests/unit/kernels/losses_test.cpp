#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/loss_loops.hpp"
#include "tests/unit/kernels/backends.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

tensor labels_of(memory_pool& pool, const tensor_shape& shape,
                 std::initializer_list<std::int32_t> values) {
    tensor t = tensor::allocate(pool, data_type::int32, shape).value();
    std::ranges::copy(values, t.mutable_values<std::int32_t>().begin());
    return t;
}

// What one table of loops makes of the same numbers.
std::vector<double> everything(const cpu::loss_loops& loops) {
    std::vector<double> all;
    random_stream random{1};
    for (const std::size_t count : {1, 10, 16, 997, 1024, 2500}) {
        std::vector<float> x(count), y(count), z(count);
        for (std::size_t i = 0; i < count; ++i) {
            x[i] = static_cast<float>(random.normal());
            y[i] = static_cast<float>(random.normal());
        }
        const auto keep = [&](double value) {
            all.push_back(value);
            all.insert(all.end(), z.begin(), z.end());
        };
        const auto sums = loops.softmax(x.data(), z.data(), count);
        keep(sums.total);
        keep(double{sums.largest});
        loops.scale(z.data(), 0.7f, 0.1f, count);
        keep(loops.sum(x.data(), count));
        keep(loops.squared_error(x.data(), y.data(), 0.3f, z.data(), count));
        all.push_back(loops.softmax(x.data(), nullptr, count).total);
        all.push_back(loops.squared_error(x.data(), y.data(), 0.3f, nullptr, count));
    }
    return all;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(losses)

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_same_bits) {
    const auto expected = everything(cpu::loss_loops_baseline);
    if (__builtin_cpu_supports("avx2"))
        BOOST_TEST(same_bits(everything(cpu::loss_loops_avx2), expected));
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        BOOST_TEST(same_bits(everything(cpu::loss_loops_avx512), expected));
}
#endif

BOOST_AUTO_TEST_CASE(a_label_that_is_no_class_is_named_with_its_sample_and_position) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        softmax_cross_entropy_sums sums;
        const auto refusal = [&](const tensor& logits, const tensor& labels) {
            const auto done = ops->run(softmax_cross_entropy{
                .logits = logits, .labels = labels, .scale = 1, .gradient = nullptr, .sums = sums});
            BOOST_REQUIRE(!done);
            BOOST_TEST((done.failure().code() == errc::data));
            return done.failure().message();
        };
        BOOST_TEST(refusal(random_tensor(pool, {2, 3}, 1), labels_of(pool, {2}, {2, 3})) ==
                   "the label of sample 1 of the batch is 3, but the model has 3 outputs");
        BOOST_TEST(refusal(random_tensor(pool, {2, 3, 4}, 1),
                           labels_of(pool, {2, 3}, {0, 1, 2, 3, -1, 0})) ==
                   "the label of sample 1, position 1 of the batch is -1, but the model has 4 "
                   "outputs");
    }
}

BOOST_AUTO_TEST_CASE(a_row_with_the_ignored_label_counts_for_nothing) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        tensor logits = random_tensor(pool, {3, 4}, 1);
        logits.mutable_values<float>()[4] = std::numeric_limits<float>::quiet_NaN(); // row 1
        tensor gradient = random_tensor(pool, {3, 4}, 2);
        const auto run = [&](const tensor& rows, const tensor& labels, tensor* to) {
            softmax_cross_entropy_sums sums;
            BOOST_REQUIRE(ops->run(softmax_cross_entropy{.logits = rows,
                                                         .labels = labels,
                                                         .scale = 1,
                                                         .gradient = to,
                                                         .sums = sums,
                                                         .label_smoothing = 0.1f,
                                                         .ignored_label = 0})
                              .ok());
            return sums;
        };
        const auto all = run(logits, labels_of(pool, {3}, {2, 0, 3}), &gradient);
        const auto first = run(logits.rows(0, 1), labels_of(pool, {1}, {2}), nullptr);
        const auto last = run(logits.rows(2, 1), labels_of(pool, {1}, {3}), nullptr);
        BOOST_TEST(std::abs(all.loss - first.loss - last.loss) < 1e-12);
        BOOST_TEST(all.counted == 2u);
        BOOST_TEST(all.correct == first.correct + last.correct);
        for (std::size_t c = 4; c < 8; ++c)
            BOOST_TEST(gradient.values<float>()[c] == 0.f);
        BOOST_TEST(gradient.values<float>()[0] != 0.f);
    }
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_a_number_stays_visible) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        for (const std::size_t where : {0, 7, 19}) {
            tensor logits = random_tensor(pool, {1, 20}, 1);
            logits.mutable_values<float>()[where] = std::numeric_limits<float>::quiet_NaN();
            softmax_cross_entropy_sums sums;
            BOOST_REQUIRE(ops->run(softmax_cross_entropy{.logits = logits,
                                                         .labels = labels_of(pool, {1}, {7}),
                                                         .scale = 1,
                                                         .gradient = nullptr,
                                                         .sums = sums})
                              .ok());
            BOOST_TEST(std::isnan(sums.loss), backend.name << " with NaN at " << where);
            BOOST_TEST(sums.correct == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(targets_of_another_shape_are_refused) {
    operand_pool pool{1 << 20};
    for (const auto& backend : backends()) {
        const auto ops = backend.make(pool);
        double sum = 0;
        const auto refused = ops->run(mean_squared_error{
            random_tensor(pool, {2, 3}, 1), random_tensor(pool, {2, 4}, 1), 1, nullptr, sum});
        BOOST_REQUIRE(!refused);
        BOOST_TEST(refused.failure().message() ==
                   "mean_squared_error: targets is float32 [2, 4], expected float32 [2, 3]");
    }
}

BOOST_AUTO_TEST_SUITE_END()
