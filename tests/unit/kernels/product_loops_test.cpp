#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/cpu/product_loops.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using cpu::matrix_product, cpu::product_loops;

namespace {

// Those that this machine can run.
std::vector<const product_loops*> all_tables() {
    std::vector<const product_loops*> all{&cpu::product_loops_baseline};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        all.push_back(&cpu::product_loops_avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        all.push_back(&cpu::product_loops_avx512);
#endif
    return all;
}

struct sizes {
    std::size_t m, n, k;
};

// Rows that are further apart than they are wide; what lies between them is to stay as it is.
struct rows {
    static constexpr float between = 7777;
    std::size_t width, stride;
    std::vector<float> values;

    rows(std::size_t count, std::size_t width, random_stream& random)
        : width{width}, stride{width + 3}, values((count - 1) * stride + width, between) {
        for (std::size_t r = 0; r < count; ++r)
            for (std::size_t c = 0; c < width; ++c)
                values[r * stride + c] = static_cast<float>(random.normal());
    }

    double at(std::size_t r, std::size_t c) const { return double{values[r * stride + c]}; }
    bool keeps_between() const {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (i % stride >= width && values[i] != between)
                return false;
        return true;
    }
};

// The largest difference from the sums in double precision, of what such a product may err by.
double error_of(const product_loops& loops, const sizes& s, float alpha, bool adds) {
    random_stream random{s.m * 1000 + s.n + s.k};
    const rows a{s.k, s.m, random}, b{s.k, s.n, random}, before{s.m, s.n, random};
    rows c = before;
    std::vector<float> memory(loops.workspace_floats + 2 * 16, rows::between);
    void* first = memory.data();
    std::size_t space = memory.size() * sizeof(float);
    float* const workspace =
        static_cast<float*>(std::align(64, loops.workspace_floats * sizeof(float), first, space));
    loops.multiply({.m = s.m,
                    .n = s.n,
                    .k = s.k,
                    .alpha = alpha,
                    .a = {a.values.data(), a.stride, true},
                    .b = {b.values.data(), b.stride},
                    .beta = adds ? 1.f : 0.f,
                    .c = c.values.data(),
                    .c_stride = c.stride},
                   workspace);
    BOOST_TEST(c.keeps_between());
    BOOST_TEST(workspace[loops.workspace_floats] == rows::between);
    double largest = 0;
    for (std::size_t i = 0; i < s.m; ++i)
        for (std::size_t j = 0; j < s.n; ++j) {
            double sum = adds ? before.at(i, j) : 0, size = 1;
            for (std::size_t k = 0; k < s.k; ++k) {
                sum += double{alpha} * a.at(k, i) * b.at(k, j);
                size += std::abs(a.at(k, i) * b.at(k, j));
            }
            largest = std::max(largest, std::abs(c.at(i, j) - sum) / size);
        }
    return largest;
}

BOOST_AUTO_TEST_CASE(every_instruction_set_multiplies_transposed_factors_near_the_exact_product) {
    for (const product_loops* loops : all_tables())
        for (const sizes& s : std::vector<sizes>{{1, 1, 1},
                                                 {5, 7, 9},
                                                 {14, 32, 384},
                                                 {97, 33, 385},
                                                 {100, 530, 380},
                                                 {201, 47, 1000}})
            for (const float alpha : {1.f, -0.5f})
                for (const bool adds : {false, true})
                    BOOST_TEST(error_of(*loops, s, alpha, adds) < 1e-6,
                               s.m << " x " << s.n << " x " << s.k << " by " << alpha
                                   << (adds ? ", added" : ""));
}

BOOST_AUTO_TEST_CASE(products_suit_where_onednn_reads_columns_that_share_a_place_of_the_cache) {
    const auto product = [](const sizes& s, std::size_t stride, bool transposed, float beta = 0) {
        return matrix_product{.m = s.m,
                              .n = s.n,
                              .k = s.k,
                              .alpha = -2,
                              .a = {nullptr, stride, transposed},
                              .b = {nullptr, s.n},
                              .beta = beta,
                              .c = nullptr,
                              .c_stride = s.n};
    };
    const sizes small{64, 64, 64};
    BOOST_TEST(cpu::product_loops_avx2.suits(product(small, 1024, true)));
    BOOST_TEST(cpu::product_loops_avx2.suits(product(small, 1024, true, 1)));
    BOOST_TEST(!cpu::product_loops_avx2.suits(product(small, 1024, true, 2)));
    BOOST_TEST(!cpu::product_loops_avx2.suits(product(small, 1040, true)));
    BOOST_TEST(!cpu::product_loops_avx2.suits(product(small, 1024, false)));
    BOOST_TEST(!cpu::product_loops_avx512.suits(product(small, 1024, true)));
    BOOST_TEST(!cpu::product_loops_baseline.suits(product(small, 1024, true)));
    // Few numbers to a sum, or few columns, are not worth packing the left factor.
    BOOST_TEST(!cpu::product_loops_avx2.suits(product({512, 64, 16}, 512, true)));
    BOOST_TEST(!cpu::product_loops_avx2.suits(product({512, 1, 400}, 512, true)));
    BOOST_TEST(!cpu::product_loops_avx2.suits(product({4096, 4096, 32}, 4096, true)));
    BOOST_TEST(cpu::product_loops_avx2.suits(product({4096, 4096, 128}, 4096, true)));
}

} // namespace
