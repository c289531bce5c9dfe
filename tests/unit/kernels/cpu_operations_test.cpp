#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/norm_loops.hpp"
#include "kernels/cpu/pointwise_loops.hpp"
#include "kernels/cpu/update_loops.hpp"
#include "kernels/reference/reference.hpp"
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
    std::vector<float> out(997); // no multiple of any vector
    loops.add_scaled(x.data(), 0.3f, y.data(), out.data(), out.size());
    keep(out);
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

std::vector<float> all_updates(const cpu::update_loops& loops) {
    random_stream random{2};
    constexpr std::size_t count = 997; // no multiple of any vector
    const auto numbers = [&] {
        std::vector<float> x(count);
        for (float& value : x)
            value = static_cast<float>(random.uniform()) + 0.001f;
        return x;
    };
    const auto gradient = numbers(), weight = numbers(), first = numbers(), second = numbers();
    std::vector<float> all;
    const auto keep = [&](auto* loop, const auto& settings) {
        std::vector<float> new_weight(count), new_first(count), new_second(count);
        loop(settings, cpu::update_task{count,
                                        0.1f,
                                        3,
                                        gradient.data(),
                                        weight.data(),
                                        {first.data(), second.data()},
                                        new_weight.data(),
                                        {new_first.data(), new_second.data()}});
        for (const auto* part : {&new_weight, &new_first, &new_second})
            all.insert(all.end(), part->begin(), part->end());
    };
    for (const float decay : {0.f, 0.01f}) {
        keep(loops.sgd, sgd_settings{0, decay, 0.5f});
        for (const bool flag : {false, true}) {
            keep(loops.sgd, sgd_settings{0.9f, decay, 0.5f, flag});
            keep(loops.adam, adam_settings{.weight_decay = decay, .decoupled = flag});
        }
        keep(loops.adagrad, adagrad_settings{.weight_decay = decay});
        keep(loops.rmsprop, rmsprop_settings{.weight_decay = decay});
        keep(loops.adadelta, adadelta_settings{.weight_decay = decay});
        keep(loops.lamb_direction, lamb_settings{.weight_decay = decay});
    }
    all.push_back(static_cast<float>(loops.sum_of_squares(weight.data(), count)));
    std::vector<float> clipped(count);
    loops.clip(weight.data(), 0.4f, clipped.data(), count);
    all.insert(all.end(), clipped.begin(), clipped.end());
    return all;
}

std::vector<float> all_functions(const cpu::pointwise_loops& loops) {
    constexpr std::size_t count = 997; // no multiple of any vector
    std::vector<float> x(count), dy(count, 1.5f), y(count), z(count), all;
    for (std::size_t i = 0; i < count; ++i)
        x[i] = (static_cast<float>(i) - 500) * 0.03f;
    for (const auto& function :
         {loops.relu, loops.gelu, loops.gelu_tanh, loops.silu, loops.sigmoid, loops.tanh}) {
        function.forward(x.data(), y.data(), count);
        all.insert(all.end(), y.begin(), y.end());
        function.backward(x.data(), dy.data(), y.data(), count);
        all.insert(all.end(), y.begin(), y.end());
    }
    loops.swiglu(x.data(), dy.data(), y.data(), count);
    all.insert(all.end(), y.begin(), y.end());
    loops.swiglu_back(x.data(), dy.data(), x.data(), y.data(), z.data(), count);
    all.insert(all.end(), y.begin(), y.end());
    all.insert(all.end(), z.begin(), z.end());
    return all;
}

std::vector<float> all_norms(const cpu::norm_loops& loops) {
    constexpr std::size_t rows = 3, width = 333; // no multiple of any vector
    random_stream random{3};
    std::vector<float> all;
    const auto numbers = [&](std::size_t count) {
        std::vector<float> x(count);
        for (float& value : x)
            value = static_cast<float>(random.normal());
        return x;
    };
    const auto x = numbers(rows * width), dy = numbers(rows * width), weight = numbers(width),
               bias = numbers(width);
    const auto keep = [&](auto* forward, auto* backward) {
        std::vector<float> y(rows * width), dx(rows * width), mean(rows), r(rows), dw(width),
            db(width);
        forward({rows, width, 1e-5f, x.data(), weight.data(), bias.data(), y.data(), mean.data(),
                 r.data()});
        backward({rows, width, x.data(), weight.data(), mean.data(), r.data(), dy.data(), dx.data(),
                  dw.data(), db.data()});
        for (const auto* part : {&y, &dx, &mean, &r, &dw, &db})
            all.insert(all.end(), part->begin(), part->end());
    };
    keep(loops.layer_norm, loops.layer_norm_back);
    keep(loops.rms_norm, loops.rms_norm_back);
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
    const auto updated = all_updates(cpu::update_loops_baseline);
    const auto evaluated = all_functions(cpu::pointwise_loops_baseline);
    const auto normalised = all_norms(cpu::norm_loops_baseline);
    if (__builtin_cpu_supports("avx2")) {
        BOOST_TEST(same_bits(everything(cpu::loops_avx2), expected));
        BOOST_TEST(same_bits(all_updates(cpu::update_loops_avx2), updated));
        BOOST_TEST(same_bits(all_functions(cpu::pointwise_loops_avx2), evaluated));
        BOOST_TEST(same_bits(all_norms(cpu::norm_loops_avx2), normalised));
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        BOOST_TEST(same_bits(everything(cpu::loops_avx512), expected));
        BOOST_TEST(same_bits(all_updates(cpu::update_loops_avx512), updated));
        BOOST_TEST(same_bits(all_functions(cpu::pointwise_loops_avx512), evaluated));
        BOOST_TEST(same_bits(all_norms(cpu::norm_loops_avx512), normalised));
    }
}
#endif

BOOST_AUTO_TEST_CASE(functions_are_exact_from_tiny_to_huge_arguments) {
    memory_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    const auto oracle = make_reference_operations();
    std::vector<float> arguments{0.f};
    for (float size = 1e-6f; size < 2e4f; size *= 1.07f)
        arguments.insert(arguments.end(), {size, -size});
    tensor x = tensor::allocate(pool, data_type::float32, {arguments.size()}).value();
    std::ranges::copy(arguments, x.mutable_values<float>().begin());
    tensor one = random_tensor(pool, x.shape(), 1), given = one, expected = one;
    BOOST_REQUIRE(ops->run(fill{one, 1}).ok());
    const auto compare = [&](const char* what) {
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            const double a = double{given.values<float>()[i]};
            const double b = double{expected.values<float>()[i]};
            BOOST_TEST(std::abs(a - b) <= 2e-6 * std::abs(b) + 2e-7,
                       what << " at " << arguments[i] << " is " << a << ", exactly " << b);
        }
    };
    for (const pointwise f : {pointwise::relu, pointwise::gelu, pointwise::gelu_tanh,
                              pointwise::silu, pointwise::sigmoid, pointwise::tanh}) {
        given = tensor::allocate(pool, data_type::float32, x.shape()).value();
        expected = tensor::allocate(pool, data_type::float32, x.shape()).value();
        BOOST_REQUIRE(ops->run(pointwise_forward{f, x, given}).ok());
        BOOST_REQUIRE(oracle->run(pointwise_forward{f, x, expected}).ok());
        compare("a value");
        const tensor kept = keeps_output(f) ? expected : x;
        expected = tensor::allocate(pool, data_type::float32, x.shape()).value();
        BOOST_REQUIRE(ops->run(pointwise_backward{f, kept, one, given}).ok());
        BOOST_REQUIRE(oracle->run(pointwise_backward{f, kept, one, expected}).ok());
        compare("a slope");
    }
}

BOOST_AUTO_TEST_CASE(momentum_that_fades_away_becomes_zero_instead_of_denormal) {
    memory_pool pool{1 << 20};
    const auto ops = make_cpu_operations(pool);
    tensor velocity = random_tensor(pool, {100}, 1);
    tensor weight = random_tensor(pool, {100}, 2);
    tensor gradient = random_tensor(pool, {100}, 3);
    BOOST_REQUIRE(ops->run(fill{velocity, std::numeric_limits<float>::min()}).ok());
    BOOST_REQUIRE(ops->run(fill{gradient, 0}).ok());
    BOOST_REQUIRE(ops->run(sgd_update{{.momentum = 0.5f},
                                      {.learning_rate = 0.1f,
                                       .step = 1,
                                       .gradient = gradient,
                                       .weight = weight,
                                       .state = std::span{&velocity, 1},
                                       .new_weight = weight,
                                       .new_state = std::span{&velocity, 1}}})
                      .ok());
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
    BOOST_REQUIRE(ops->run(pointwise_forward{pointwise::relu, x, x}).ok());
    BOOST_TEST(std::isnan(x.values<float>()[19]));
}

BOOST_AUTO_TEST_SUITE_END()
