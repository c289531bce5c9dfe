#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/attention_loops.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;

namespace {

struct tables {
    const cpu::attention_loops& forward;
    const cpu::attention_back_loops& backward;
};

// Those that this machine can run.
std::vector<tables> all_tables() {
    std::vector<tables> all{{cpu::attention_loops_baseline, cpu::attention_back_loops_baseline}};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        all.push_back({cpu::attention_loops_avx2, cpu::attention_back_loops_avx2});
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        all.push_back({cpu::attention_loops_avx512, cpu::attention_back_loops_avx512});
#endif
    return all;
}

struct sizes {
    std::size_t queries, keys, width;
    bool causal;
};

// Rows that are further apart than they are wide; what lies between them is to stay as it is.
struct rows {
    static constexpr float between = 7777;
    std::size_t count, width, stride;
    std::vector<float> values;

    rows(std::size_t count, std::size_t width)
        : count{count}, width{width}, stride{width + 3}, values(count * stride, between) {}
    rows(std::size_t count, std::size_t width, random_stream& random) : rows{count, width} {
        for (std::size_t r = 0; r < count; ++r)
            for (std::size_t c = 0; c < width; ++c)
                at(r, c) = static_cast<float>(random.normal());
    }

    float& at(std::size_t r, std::size_t c) { return values[r * stride + c]; }
    double at(std::size_t r, std::size_t c) const { return double{values[r * stride + c]}; }
    operator cpu::position_rows() const { return {values.data(), stride}; }
    cpu::mutable_position_rows to_write() { return {values.data(), stride}; }
    bool keeps_between() const {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (i % stride >= width && values[i] != between)
                return false;
        return true;
    }
};

// The largest difference from what is exact.
struct difference {
    double largest = 0;

    void add(double value, double exact) {
        const double here = std::abs(value - exact);
        largest = here <= largest ? largest : here; // NaN counts
    }
};

double product(const rows& a, std::size_t i, const rows& b, std::size_t j) {
    double sum = 0;
    for (std::size_t c = 0; c < a.width; ++c)
        sum += a.at(i, c) * b.at(j, c);
    return sum;
}

// One head, in doubles, as ops/sequences.hpp defines it.
struct exact_attention {
    sizes size;
    std::vector<double> log_sums, output, to_q, to_k, to_v;

    exact_attention(const sizes& s, const rows& q, const rows& k, const rows& v, const rows& dy)
        : size{s}, log_sums(s.queries), output(s.queries * s.width), to_q(output.size()),
          to_k(s.keys * s.width), to_v(to_k.size()) {
        for (std::size_t i = 0; i < s.queries; ++i)
            add_query(i, q, k, v, dy);
    }

  private:
    void add_query(std::size_t i, const rows& q, const rows& k, const rows& v, const rows& dy) {
        const std::size_t w = size.width;
        const std::size_t visible = size.causal ? std::min(size.keys, i + 1) : size.keys;
        const double scale = 1 / std::sqrt(static_cast<double>(w));
        std::vector<double> shares(visible), to_shares(visible);
        double total = 0, mean = 0;
        for (std::size_t j = 0; j < visible; ++j)
            total += shares[j] = std::exp(scale * product(q, i, k, j));
        log_sums[i] = std::log(total);
        for (std::size_t j = 0; j < visible; ++j) {
            shares[j] /= total;
            to_shares[j] = product(dy, i, v, j);
            mean += shares[j] * to_shares[j];
        }
        for (std::size_t j = 0; j < visible; ++j) {
            const double to_score = scale * shares[j] * (to_shares[j] - mean);
            for (std::size_t c = 0; c < w; ++c) {
                output[i * w + c] += shares[j] * v.at(j, c);
                to_v[j * w + c] += shares[j] * dy.at(i, c);
                to_q[i * w + c] += to_score * k.at(j, c);
                to_k[j * w + c] += to_score * q.at(i, c);
            }
        }
    }
};

double farthest(const rows& found, const std::vector<double>& exact) {
    difference d;
    for (std::size_t r = 0; r < found.count; ++r)
        for (std::size_t c = 0; c < found.width; ++c)
            d.add(found.at(r, c), exact[r * found.width + c]);
    return d.largest;
}

struct alignas(64) cache_line {
    float values[16];
};

// One more than is asked for, and what is there is no number.
std::vector<cache_line> workspace_of(std::size_t floats) {
    cache_line poison;
    std::ranges::fill(poison.values, std::nanf(""));
    return std::vector<cache_line>(floats / 16 + 1, poison);
}

void check(const tables& loops, const sizes& size) {
    random_stream random{size.queries * 1000 + size.keys};
    const rows q{size.queries, size.width, random}, k{size.keys, size.width, random},
        v{size.keys, size.width, random}, dy{size.queries, size.width, random};
    const cpu::attention_head head{size.queries, size.keys, size.width, size.causal, q, k, v};
    rows output{size.queries, size.width}, to_q{output}, to_k{size.keys, size.width}, to_v{to_k};
    std::vector<float> log_sums(size.queries);
    auto workspace = workspace_of(loops.forward.floats(size.keys, size.width));
    loops.forward.forward({head, output.to_write(), log_sums.data()}, workspace[0].values);
    BOOST_TEST(std::isnan(workspace.back().values[0]));
    workspace = workspace_of(loops.backward.floats(size.keys, size.width));
    loops.backward.backward(
        {head, output, dy, log_sums.data(), to_q.to_write(), to_k.to_write(), to_v.to_write()},
        workspace[0].values);
    BOOST_TEST(std::isnan(workspace.back().values[0]));
    const exact_attention exact{size, q, k, v, dy};
    difference of_sums;
    for (std::size_t i = 0; i < size.queries; ++i)
        of_sums.add(double{log_sums[i]}, exact.log_sums[i]);
    BOOST_TEST(of_sums.largest < 5e-6);
    BOOST_TEST(farthest(output, exact.output) < 5e-6);
    BOOST_TEST(farthest(to_q, exact.to_q) < 1e-5);
    BOOST_TEST(farthest(to_k, exact.to_k) < 1e-5);
    BOOST_TEST(farthest(to_v, exact.to_v) < 1e-5);
    for (const rows* part : {&output, &to_q, &to_k, &to_v})
        BOOST_TEST(part->keeps_between());
}

} // namespace

BOOST_AUTO_TEST_CASE(attention_of_every_instruction_set_is_exact_to_rounding) {
    // One position; strips, vectors, panels and blocks that are whole, and one more or less than that.
    for (const auto& loops : all_tables())
        for (const bool causal : {false, true})
            for (const std::size_t positions : {1, 2, 14, 15, 31, 63, 64, 65, 129, 256, 257, 513})
                for (const std::size_t width : {1, 8, 17, 40, 64, 65})
                    check(loops, {positions, positions, width, causal});
}

BOOST_AUTO_TEST_CASE(attention_of_every_instruction_set_is_exact_across_lengths) {
    for (const auto& loops : all_tables())
        for (const std::size_t queries : {1, 13, 65})
            for (const std::size_t keys : {1, 30, 64, 257, 512, 1100})
                check(loops, {queries, keys, 24, false});
    // Samples that are shorter than the queries' room.
    for (const auto& loops : all_tables())
        for (const std::size_t keys : {1, 63, 64, 65, 200})
            check(loops, {257, keys, 24, true});
}
