#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/bf16_loops.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

// Those that this machine can run.
std::vector<const cpu::bf16_loops*> tables() {
    std::vector<const cpu::bf16_loops*> all{&cpu::bf16_loops_baseline};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        all.push_back(&cpu::bf16_loops_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) {
        all.push_back(&cpu::bf16_loops_avx512);
        if (__builtin_cpu_supports("avx512bf16"))
            all.push_back(&cpu::bf16_loops_avx512bf16);
    }
#endif
    return all;
}

struct alignas(64) cache_line {
    char bytes[64];
};

void multiply(const cpu::bf16_loops& loops, const cpu::matrix_product& product) {
    const cpu::arithmetic_scope scope;
    std::vector<cache_line> workspace(loops.workspace_bytes(product) / sizeof(cache_line) + 1);
    loops.multiply(product, workspace.data());
}

// Of very different sizes, both zeros and denormal numbers among them.
std::vector<float> numbers(random_stream& random, std::size_t count) {
    std::vector<float> x(count);
    for (float& value : x) {
        value = static_cast<float>(random.normal() * std::exp2(random.normal() * 6));
        if (const auto special = random.below(50); special < 3)
            value =
                std::copysign(special == 0 ? std::numeric_limits<float>::denorm_min() * 99 : 0.f,
                              special == 1 ? -1.f : value);
    }
    return x;
}

// The number with as many bits of significand, by definition: the nearer of its neighbours, of two as near the even one.
float rounded(float x, precision products = precision::bfloat16) {
    if (!std::isnormal(x))
        return x - x;
    const std::uint32_t step = products == precision::bfloat16 ? 1u << 16 : 1u << 13;
    const float below = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~(step - 1));
    const float above = std::bit_cast<float>(std::bit_cast<std::uint32_t>(below) + step);
    const float distance = std::abs(x - below), other = std::abs(above - x);
    const bool is_even = (std::bit_cast<std::uint32_t>(below) & step) == 0;
    return distance < other || (distance == other && is_even) ? below : above;
}

struct factors {
    std::size_t m, n, k;
    bool a_transposed, b_transposed;
    std::vector<float> a, b, c;

    factors(std::size_t m, std::size_t n, std::size_t k, bool a_transposed, bool b_transposed)
        : m{m}, n{n}, k{k}, a_transposed{a_transposed}, b_transposed{b_transposed} {
        random_stream random{m + n + k};
        a = numbers(random, m * k);
        b = numbers(random, k * n);
        c = numbers(random, m * n);
    }

    cpu::matrix_product into(std::vector<float>& result, float beta) const {
        return {.m = m,
                .n = n,
                .k = k,
                .a = {a.data(), a_transposed ? m : k, a_transposed},
                .b = {b.data(), b_transposed ? k : n, b_transposed},
                .beta = beta,
                .c = result.data(),
                .c_stride = n};
    }
};

// Every edge of panels, tiles and pieces.
std::vector<factors> all_factors() {
    std::vector<factors> all;
    for (const bool a : {false, true})
        for (const bool b : {false, true}) {
            all.emplace_back(1, 1, 1, a, b);
            all.emplace_back(5, 33, 2, a, b);
            all.emplace_back(29, 17, 31, a, b);
            all.emplace_back(43, 130, 400, a, b);
            all.emplace_back(3, 1100, 799, a, b);
        }
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(bf16)

BOOST_AUTO_TEST_CASE(products_have_the_same_bits_on_every_instruction_set) {
    for (const auto& f : all_factors())
        for (const float beta : {0.f, 1.f}) {
            std::vector<float> expected = f.c;
            multiply(cpu::bf16_loops_baseline, f.into(expected, beta));
            for (const auto* table : tables()) {
                std::vector<float> given = f.c;
                multiply(*table, f.into(given, beta));
                BOOST_TEST(std::memcmp(given.data(), expected.data(), given.size() * 4) == 0,
                           f.m << "x" << f.n << "x" << f.k);
            }
        }
}

BOOST_AUTO_TEST_CASE(products_are_sums_over_rounded_factors) {
    for (const auto& f : all_factors()) {
        std::vector<float> given = f.c;
        multiply(cpu::fastest_bf16_loops(), f.into(given, 1));
        for (std::size_t i = 0; i < f.m; ++i)
            for (std::size_t j = 0; j < f.n; ++j) {
                double sum = double{f.c[i * f.n + j]}, size = std::abs(sum);
                for (std::size_t k = 0; k < f.k; ++k) {
                    const double product =
                        double{rounded(f.a[f.a_transposed ? k * f.m + i : i * f.k + k])} *
                        double{rounded(f.b[f.b_transposed ? j * f.k + k : k * f.n + j])};
                    sum += product;
                    size += std::abs(product);
                }
                if (std::abs(double{given[i * f.n + j]} - sum) > 1e-5 * size)
                    BOOST_ERROR(f.m << "x" << f.n << "x" << f.k << ": " << given[i * f.n + j]
                                    << " for " << sum);
            }
    }
}

BOOST_AUTO_TEST_CASE(rows_have_the_same_bits_however_many_are_multiplied) {
    const factors f{29, 130, 400, false, true};
    std::vector<float> all = f.c;
    multiply(cpu::fastest_bf16_loops(), f.into(all, 0));
    for (std::size_t row = 0; row < f.m; ++row) {
        std::vector<float> one(f.n);
        auto product = f.into(one, 0);
        product.m = 1;
        product.a.first += row * f.k;
        multiply(cpu::fastest_bf16_loops(), product);
        BOOST_TEST(std::equal(one.begin(), one.end(),
                              all.begin() + static_cast<std::ptrdiff_t>(row * f.n)));
    }
}

BOOST_AUTO_TEST_CASE(numbers_are_rounded_as_by_products_on_every_instruction_set) {
    random_stream random{1};
    const std::vector<float> x = numbers(random, 1003);
    for (const auto* table : tables())
        for (const precision products : {precision::bfloat16, precision::float16}) {
            std::vector<float> apart(x.size()), in_place = x;
            table->round(products, x.data(), apart.data(), x.size());
            table->round(products, in_place.data(), in_place.data(), x.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                BOOST_TEST(apart[i] == rounded(x[i], products));
                BOOST_TEST(in_place[i] == rounded(x[i], products));
            }
        }
}

BOOST_AUTO_TEST_CASE(ties_go_to_even_and_what_is_no_number_stays_visible) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x{1 + 0x1p-8f,    1 + 0x3p-8f,  -1 - 0x1p-8f,
                               1 + 0x1.01p-8f, 3e38f,        std::numeric_limits<float>::max(),
                               -infinity,      std::nanf("")};
    const std::vector<float> y{1, 1 + 0x1p-6f, -1, 1 + 0x1p-7f, 0x1.c4p127f, infinity, -infinity};
    const float one = 1;
    for (const auto* table : tables()) {
        std::vector<float> given(x.size());
        multiply(*table, {.m = x.size(),
                          .n = 1,
                          .k = 1,
                          .a = {x.data(), 1},
                          .b = {&one, 1},
                          .c = given.data(),
                          .c_stride = 1});
        for (std::size_t i = 0; i < y.size(); ++i)
            BOOST_TEST(given[i] == y[i]);
        BOOST_TEST(std::isnan(given.back()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
