#include <boost/test/unit_test.hpp>

#if defined(__x86_64__)

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cpu/average_pool_loops.hpp"
#include "kernels/cpu/batch_norm_loops.hpp"
#include "kernels/cpu/codec_loops.hpp"
#include "kernels/cpu/fastest_loops.hpp"
#include "kernels/cpu/gradient_loops.hpp"
#include "kernels/cpu/loops.hpp"
#include "kernels/cpu/norm_loops.hpp"
#include "kernels/cpu/pointwise_loops.hpp"
#include "kernels/cpu/response_norm_loops.hpp"
#include "kernels/cpu/sequence_loops.hpp"
#include "kernels/cpu/sparse_loops.hpp"
#include "kernels/cpu/update_loops.hpp"
#include "kernels/ops/images.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

// What one table of loops makes of the same numbers: one number per element of every result.

std::vector<float> all_images(const cpu::loops& loops) {
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
                for (const std::size_t padding : {0, 1})
                    for (const bool relu : {false, true}) {
                        const std::size_t windows = windows_along(7, kernel, stride, padding);
                        const cpu::pool_task task{1,      7,      7,       windows, windows,
                                                  kernel, stride, padding, block,   relu};
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

std::vector<float> all_gradients(const cpu::gradient_loops& loops) {
    random_stream random{7};
    constexpr std::size_t count = 997; // no multiple of any vector
    std::vector<std::vector<float>> inputs(7, std::vector<float>(count));
    for (auto& input : inputs)
        for (float& value : input)
            value = static_cast<float>(random.normal());
    std::vector<float> squares = inputs[3], all;
    for (float& value : squares)
        value *= value;
    std::vector<const float*> rows;
    for (const auto& input : inputs)
        rows.push_back(input.data());
    for (const bool adapts : {false, true}) {
        std::vector<float> corrected(count), mean(count);
        loops.compensate({count, 0.3f, 0.9f, rows[0], rows[1], rows[2],
                          adapts ? squares.data() : nullptr, corrected.data(),
                          adapts ? mean.data() : nullptr});
        all.insert(all.end(), corrected.begin(), corrected.end());
        all.insert(all.end(), mean.begin(), mean.end());
    }
    for (const std::size_t trim : {0, 1, 3}) {
        std::vector<float> mean(count);
        loops.trimmed_mean(rows.data(), rows.size(), trim, mean.data(), count);
        all.insert(all.end(), mean.begin(), mean.end());
    }
    all.push_back(loops.largest_difference(rows[0], rows[1], count));
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

std::vector<float> normal_numbers(random_stream& random, std::size_t count) {
    std::vector<float> x(count);
    for (float& value : x)
        value = static_cast<float>(random.normal());
    return x;
}

std::vector<float> all_norms(const cpu::norm_loops& loops) {
    constexpr std::size_t rows = 3, width = 333; // no multiple of any vector
    random_stream random{3};
    const auto x = normal_numbers(random, rows * width), dy = normal_numbers(random, rows * width),
               weight = normal_numbers(random, width), bias = normal_numbers(random, width);
    std::vector<float> all;
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

std::vector<float> all_averages(const cpu::average_pool_loops& loops) {
    random_stream random{6};
    const auto x = normal_numbers(random, 1000);
    std::vector<float> all;
    for (const std::size_t block : {1, 8, 16})
        for (const std::size_t kernel : {2, 3, 7}) {
            const std::size_t padding = kernel == 3 ? 1 : 0;
            const std::size_t windows = windows_along(7, kernel, 2, padding);
            const cpu::average_pool_task task{1,      7,      7, windows, windows,
                                              kernel, kernel, 2, padding, block};
            std::vector<float> pooled(windows * windows * block), gradient(49 * block);
            loops.forward(task, x.data(), pooled.data());
            loops.backward(task, x.data(), gradient.data());
            for (const auto* part : {&pooled, &gradient})
                all.insert(all.end(), part->begin(), part->end());
        }
    return all;
}

std::vector<float> all_batch_norms(const cpu::batch_norm_loops& loops) {
    constexpr std::size_t samples = 3, channels = 16, pixels = 37;
    constexpr std::size_t count = samples * channels * pixels;
    random_stream random{4};
    const auto x = normal_numbers(random, count), dy = normal_numbers(random, count),
               weight = normal_numbers(random, channels), bias = normal_numbers(random, channels);
    std::vector<float> all;
    for (const std::size_t block : {1, 2, 8, 16}) {
        std::vector<float> y(count), z(count), dx(count), mean(channels), v(channels), r(channels),
            dw(channels), db(channels);
        loops.forward({samples, channels, pixels, block, 1e-5f, x.data(), weight.data(),
                       bias.data(), y.data(), mean.data(), v.data(), r.data()});
        loops.inference({samples, channels, pixels, block, 1e-5f, x.data(), weight.data(),
                         bias.data(), mean.data(), v.data(), z.data()});
        loops.backward({samples, channels, pixels, block, x.data(), weight.data(), mean.data(),
                        r.data(), dy.data(), dx.data(), dw.data(), db.data()});
        for (const auto* part : {&y, &z, &dx, &mean, &v, &r, &dw, &db})
            all.insert(all.end(), part->begin(), part->end());
    }
    return all;
}

std::vector<float> all_response_norms(const cpu::response_norm_loops& loops) {
    constexpr std::size_t samples = 2, channels = 16, pixels = 37, size = 5;
    constexpr std::size_t count = samples * channels * pixels;
    random_stream random{5};
    const auto x = normal_numbers(random, count), dy = normal_numbers(random, count);
    std::vector<float> all, workspace(cpu::response_norm_pixels * (4 * channels + size));
    for (const std::size_t block : {1, 16})
        for (const float beta : {0.75f, 0.6f}) {
            std::vector<float> y(count), dx(count);
            cpu::response_norm_task task{samples,  channels,  pixels,   block,
                                         size,     0.1f,      beta,     1,
                                         x.data(), dy.data(), y.data(), workspace.data()};
            loops.forward(task);
            task.y = dx.data();
            loops.backward(task);
            for (const auto* part : {&y, &dx})
                all.insert(all.end(), part->begin(), part->end());
        }
    return all;
}

std::vector<float> all_sequences(const cpu::sequence_loops& loops) {
    random_stream random{6};
    constexpr std::size_t rows = 7, columns = 133; // no multiple of any vector
    auto x = normal_numbers(random, rows * columns), y = normal_numbers(random, x.size());
    std::vector<float> z(x.size()), all;
    const auto keep = [&](const std::vector<float>& result) {
        all.insert(all.end(), result.begin(), result.end());
    };
    loops.dropout({0x3ffffffffu, {2, 3}, {4, 5}, 0x7fffffff, 1.7f}, x.data(), z.data(), z.size());
    keep(z);
    loops.softmax(x.data(), z.data(), rows, columns);
    keep(z);
    loops.softmax_back(z.data(), y.data(), z.data(), rows, columns);
    keep(z);
    return all;
}

std::vector<float> all_codecs(const cpu::codec_loops& loops) {
    random_stream random{7};
    constexpr std::size_t count = 997; // no multiple of any vector
    const auto x = normal_numbers(random, count), y = normal_numbers(random, count);
    std::vector<std::uint8_t> bytes(2 * count);
    std::vector<float> z(count), v(count), all;
    const auto keep = [&](const auto& result) {
        all.insert(all.end(), result.begin(), result.end());
    };
    const cpu::decode_task added{0.3f, y.data(), z.data(), count},
        alone{0.3f, nullptr, z.data(), count};
    const auto half = [&](auto* to, auto* from) {
        to(x.data(), bytes.data(), count);
        keep(bytes);
        for (const auto& task : {added, alone}) {
            from(bytes.data(), task);
            keep(z);
        }
    };
    half(loops.to_bf16, loops.from_bf16);
    half(loops.to_f16, loops.from_f16);
    for (const std::uint32_t levels : {1u, 15u, 127u}) {
        const std::size_t bits = levels == 1 ? 2 : levels == 15 ? 5 : 8;
        for (const bool nearest : {true, false}) {
            loops.quantize(
                {levels, bits, static_cast<float>(levels) / 3, 2.5f, 7, {1, 2}, {3, 4}, nearest},
                x.data(), bytes.data(), count);
            keep(bytes);
        }
        all.push_back(loops.dequantize(levels, bits, 0.1f, bytes.data(), added) ? 1 : 0);
        keep(z);
    }
    const cpu::sign_means means = loops.encode_signs(x.data(), bytes.data(), count);
    keep(bytes);
    loops.decode_signs(means, bytes.data(), added);
    keep(z);
    loops.momentum(0.9f, 0.3f, x.data(), y.data(), y.data(), z.data(), v.data(), count);
    keep(z);
    keep(v);
    const cpu::moments sums = loops.sums(x.data(), count);
    for (const double number : {double{loops.largest(x.data(), count)}, sums.sum, sums.squares,
                                double{loops.dot(x.data(), y.data(), count)}})
        all.push_back(static_cast<float>(number));
    return all;
}

std::vector<float> all_sparse(const cpu::sparse_loops& loops) {
    random_stream random{8};
    const auto x = normal_numbers(random, 997);
    std::vector<float> all;
    for (const std::int32_t least : {1, 0x3f000000, 0x3fc00000, 0x7f800000})
        for (const std::size_t most : {0, 1, 17, 400, 997}) {
            std::vector<std::uint32_t> indices(most);
            all.push_back(static_cast<float>(loops.count(x.data(), x.size(), least)));
            const std::size_t found = loops.find(x.data(), x.size(), least, indices.data(), most);
            all.push_back(static_cast<float>(found));
            all.push_back(loops.ascend(indices.data(), found, ~0u, 900) ? 1 : 0);
            all.insert(all.end(), indices.begin(),
                       indices.begin() + static_cast<std::ptrdiff_t>(found));
        }
    return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Of those tables that this machine can run.
template <class Loops, class Function>
void check_same_bits(const Loops& baseline, const Loops& avx2, const Loops& avx512, Function all) {
    const auto expected = all(baseline);
    if (__builtin_cpu_supports("avx2"))
        BOOST_TEST(same_bits(all(avx2), expected));
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        BOOST_TEST(same_bits(all(avx512), expected));
}

} // namespace

// tests/instruction_set.cpp holds both by this variable.
BOOST_AUTO_TEST_CASE(loops_are_no_wider_than_onednn_is_held_to) {
    const char* const held = std::getenv("ONEDNN_MAX_CPU_ISA");
    const std::string set = held == nullptr ? "" : held;
    const auto& loops = cpu::fastest(cpu::loops_avx512, cpu::loops_avx2, cpu::loops_baseline);
    if (set == "SSE41" || set == "AVX")
        BOOST_TEST((&loops == &cpu::loops_baseline));
    if (set == "AVX2")
        BOOST_TEST((&loops == &cpu::loops_avx2));
    if (set == "AVX512_CORE")
        BOOST_TEST((&loops == &cpu::loops_avx512));
    BOOST_TEST((set.empty() || set.starts_with("AVX512_CORE_") ||
                cpu::widest_instruction_set() < cpu::instruction_set::avx512_bf16));
}

BOOST_AUTO_TEST_CASE(every_instruction_set_gives_the_same_bits) {
#define TROUPE_CHECK_TABLE(table, all)                                                             \
    check_same_bits(cpu::table##_baseline, cpu::table##_avx2, cpu::table##_avx512, all)
    TROUPE_CHECK_TABLE(loops, all_images);
    TROUPE_CHECK_TABLE(average_pool_loops, all_averages);
    TROUPE_CHECK_TABLE(batch_norm_loops, all_batch_norms);
    TROUPE_CHECK_TABLE(codec_loops, all_codecs);
    TROUPE_CHECK_TABLE(norm_loops, all_norms);
    TROUPE_CHECK_TABLE(gradient_loops, all_gradients);
    TROUPE_CHECK_TABLE(pointwise_loops, all_functions);
    TROUPE_CHECK_TABLE(response_norm_loops, all_response_norms);
    TROUPE_CHECK_TABLE(sequence_loops, all_sequences);
    TROUPE_CHECK_TABLE(sparse_loops, all_sparse);
    TROUPE_CHECK_TABLE(update_loops, all_updates);
#undef TROUPE_CHECK_TABLE
}

#endif
