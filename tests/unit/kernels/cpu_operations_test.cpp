#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/loops.hpp"
#include "tests/unit/kernels/models.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// What one table of loops makes of the same numbers; one number per element of every result.
std::vector<float> everything(const cpu::loops& loops) {
    random_stream random{1};
    std::vector<float> x(1000), y(1000);
    for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(random.normal());
        y[i] = static_cast<float>(random.normal());
    }
    std::vector<float> all;
    const auto keep = [&](const std::vector<float>& result) {
        all.insert(all.end(), result.begin(), result.end());
    };
    std::vector<float> out(997), other(997); // no multiple of any vector
    loops.relu_forward(x.data(), out.data(), out.size());
    keep(out);
    loops.relu_backward(x.data(), y.data(), out.data(), out.size());
    keep(out);
    loops.add_scaled(x.data(), 0.3f, y.data(), out.data(), out.size());
    keep(out);
    loops.momentum_update(0.01f, 0.9f, x.data(), y.data(), x.data() + 1, out.data(), other.data(),
                          out.size());
    keep(out);
    keep(other);
    for (const std::size_t block : {1, 8, 16})
        for (const std::size_t kernel : {2, 3})
            for (const std::size_t stride : {2, 3})
                for (const bool relu : {false, true}) {
                    const std::size_t windows = windows_along(7, kernel, stride, 0);
                    const cpu::pool_task task{1,      7,      7,     windows, windows,
                                              kernel, stride, block, relu};
                    std::vector<float> pooled(windows * windows * block), gradient(49 * block);
                    std::vector<std::uint8_t> positions(pooled.size());
                    loops.pool_forward(task, x.data(), pooled.data(), positions.data());
                    loops.pool_backward(task, y.data(), pooled.data(), positions.data(),
                                        gradient.data());
                    keep(pooled);
                    keep(gradient);
                    keep({positions.begin(), positions.end()});
                }
    out.assign(16 * 49, 0);
    loops.interleave(x.data(), out.data(), 1, 16, 49);
    keep(out);
    loops.separate(x.data(), out.data(), 1, 16, 49);
    keep(out);
    return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cpu_back_end)

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_same_bits) {
    const auto expected = everything(cpu::loops_baseline);
    if (__builtin_cpu_supports("avx2"))
        BOOST_TEST(same_bits(everything(cpu::loops_avx2), expected));
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        BOOST_TEST(same_bits(everything(cpu::loops_avx512), expected));
}
#endif

BOOST_AUTO_TEST_CASE(momentum_that_fades_away_becomes_zero_instead_of_denormal) {
    memory_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    tensor velocity = random_tensor(pool, {100}, 1);
    tensor weight = random_tensor(pool, {100}, 2);
    tensor gradient = random_tensor(pool, {100}, 3);
    BOOST_REQUIRE(ops->run(fill{velocity, std::numeric_limits<float>::min()}).ok());
    BOOST_REQUIRE(ops->run(fill{gradient, 0}).ok());
    BOOST_REQUIRE(
        ops->run(momentum_update{0.1f, 0.5f, gradient, weight, velocity, weight, velocity}).ok());
    BOOST_TEST(velocity.values<float>()[99] == 0.f);
    // The caller's own arithmetic is as it was.
    volatile float tiny = std::numeric_limits<float>::min();
    BOOST_TEST(std::fpclassify(tiny / 2) == FP_SUBNORMAL);
}

BOOST_AUTO_TEST_CASE(scratch_memory_past_the_bound_is_an_error) {
    memory_pool pool{1 << 20};
    memory_pool little{4096};
    const auto ops = make_cpu_operations(little);
    const tensor images = random_tensor(pool, {2, 16, 8, 8}, 1);
    const tensor weight = random_tensor(pool, {16, 16, 3, 3}, 2);
    const tensor bias = random_tensor(pool, {16}, 3);
    tensor output = random_tensor(pool, {2, 16, 8, 8}, 4);
    const auto refused = ops->run(conv2d_forward{{.padding = 1}, images, weight, bias, output});
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.failure().code() == errc::exhausted));
    BOOST_TEST(little.statistics().bytes_in_use == 0u);
}

BOOST_AUTO_TEST_CASE(a_diverged_network_stays_visible_through_relu) {
    memory_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    tensor x = random_tensor(pool, {20}, 1);
    BOOST_REQUIRE(ops->run(fill{x, std::numeric_limits<float>::quiet_NaN()}).ok());
    BOOST_REQUIRE(ops->run(relu_forward{x, x}).ok());
    BOOST_TEST(std::isnan(x.values<float>()[19]));
}

BOOST_AUTO_TEST_SUITE_END()
