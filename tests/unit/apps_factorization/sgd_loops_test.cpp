#include <boost/test/unit_test.hpp>

#include <cmath>
#include <utility>
#include <vector>

#include "apps/factorization/sgd_loops.hpp"
#include "kernels/cpu/instruction_set.hpp"
#include "schemas/base/random.hpp"

using namespace troupe;
using namespace troupe::factorization;

namespace {

struct small_problem {
    std::size_t rank, stride;
    std::vector<float> p, q, b, c;
    std::vector<std::uint32_t> users{2, 0, 3}, items{1, 4, 3, 2, 3, 4, 3, 2};
    std::vector<std::uint64_t> starts{0, 4, 6, 8};
    std::vector<float> values{3.5F, 2, 4, 5, 1, 3, 2.5F, 4.5F};
    sgd_step step{0.04F, 0.99F, 0.05F, 0.98F};

    explicit small_problem(std::size_t r)
        : rank{r}, stride{stride_of(r)}, p(4 * stride), q(5 * stride), b(4), c(5) {
        random_stream random{r};
        for (std::vector<float>* rows : {&p, &q})
            for (std::size_t at = 0; at < rows->size(); at += stride)
                for (std::size_t k = 0; k < rank; ++k)
                    (*rows)[at + k] = static_cast<float>(random.normal() / std::sqrt(r));
        for (std::vector<float>* biases : {&b, &c})
            for (float& bias : *biases)
                bias = static_cast<float>(random.normal());
    }
    rating_view view() const {
        return {users.size(), users.data(), starts.data(), items.data(), values.data()};
    }
    factor_view factors() { return {stride, p.data(), b.data(), q.data(), c.data(), 3.25F}; }
};

// The steps in their order: whose place among the users it is, and the rating.
std::vector<std::pair<std::size_t, std::size_t>> order_of(const small_problem& problem) {
    std::vector<std::pair<std::size_t, std::size_t>> order;
    std::vector<std::size_t> at(problem.starts.begin(), problem.starts.end() - 1);
    const auto has_left = [&](std::size_t v) { return at[v] < problem.starts[v + 1]; };
    const auto step = [&](std::size_t v) { order.emplace_back(v, at[v]++); };
    std::size_t one = 0, other = 1;
    for (std::size_t next = 2;; ++next) {
        while (has_left(one) && has_left(other)) {
            step(one);
            step(other);
        }
        if (next == problem.users.size())
            break;
        (has_left(one) ? other : one) = next;
    }
    for (const std::size_t v : {one, other})
        while (has_left(v))
            step(v);
    return order;
}

// The same in float64, as the header has it.
double learn_plainly(const small_problem& problem, std::vector<double>& p, std::vector<double>& q,
                     std::vector<double>& b, std::vector<double>& c) {
    double squares = 0;
    for (const auto& [v, k] : order_of(problem)) {
        const std::size_t u = problem.users[v], i = problem.items[k];
        double e = static_cast<double>(problem.values[k]) - 3.25 - b[u] - c[i];
        for (std::size_t f = 0; f < problem.rank; ++f)
            e -= p[u * problem.stride + f] * q[i * problem.stride + f];
        squares += e * e;
        b[u] = 0.98 * b[u] + 0.05 * e;
        c[i] = 0.98 * c[i] + 0.05 * e;
        for (std::size_t f = 0; f < problem.rank; ++f) {
            double& x = p[u * problem.stride + f];
            double& y = q[i * problem.stride + f];
            const double before = x;
            x = 0.99 * x + 0.04 * e * y;
            y = 0.99 * y + 0.04 * e * before;
        }
    }
    return squares;
}

void check_near(const std::vector<float>& found, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < found.size(); ++i)
        BOOST_TEST(std::abs(static_cast<double>(found[i]) - expected[i]) < 2e-6);
}

// Those that this machine can run.
std::vector<const sgd_loops*> tables() {
    std::vector<const sgd_loops*> all{&sgd_loops_baseline};
#if defined(__x86_64__)
    if (cpu::widest_instruction_set() >= cpu::instruction_set::avx2)
        all.push_back(&sgd_loops_avx2);
    if (cpu::widest_instruction_set() >= cpu::instruction_set::avx512)
        all.push_back(&sgd_loops_avx512);
#endif
    return all;
}

constexpr std::size_t ranks[] = {1, 7, 8, 9, 16, 24, 32, 40, 48, 56, 64, 65, 100};

} // namespace

BOOST_AUTO_TEST_SUITE(factorization_loops)

BOOST_AUTO_TEST_CASE(take_the_step_of_the_formula) {
    for (const std::size_t rank : ranks) {
        small_problem problem{rank};
        std::vector<double> p(problem.p.begin(), problem.p.end()),
            q(problem.q.begin(), problem.q.end()), b(problem.b.begin(), problem.b.end()),
            c(problem.c.begin(), problem.c.end());
        const double expected = learn_plainly(problem, p, q, b, c);
        const double squares =
            fastest_sgd_loops().learn(problem.view(), 0, 3, problem.factors(), problem.step);
        BOOST_TEST(squares == expected, boost::test_tools::tolerance(1e-5));
        check_near(problem.p, p);
        check_near(problem.q, q);
        check_near(problem.b, b);
        check_near(problem.c, c);
    }
}

BOOST_AUTO_TEST_CASE(learn_from_the_users_that_they_are_told) {
    small_problem all{40}, alone{40};
    alone.users = {all.users[1]};
    alone.starts = {all.starts[1], all.starts[2]};
    const sgd_loops& loops = fastest_sgd_loops();
    const double squares = loops.learn(all.view(), 1, 2, all.factors(), all.step);
    BOOST_TEST(squares == loops.learn(alone.view(), 0, 1, alone.factors(), alone.step));
    BOOST_TEST((all.p == alone.p));
    BOOST_TEST((all.q == alone.q));
    BOOST_TEST(loops.learn(all.view(), 2, 2, all.factors(), all.step) == 0);
    BOOST_TEST((all.p == alone.p));
}

BOOST_AUTO_TEST_CASE(sum_squares_without_learning) {
    for (const std::size_t rank : ranks) {
        small_problem problem{rank};
        const small_problem before = problem;
        problem.step = {0, 1, 0, 1};
        const double squares = fastest_sgd_loops().squares(problem.view(), problem.factors());
        BOOST_TEST((problem.p == before.p));
        BOOST_TEST((problem.c == before.c));
        BOOST_TEST(squares == fastest_sgd_loops().learn(problem.view(), 0, 3, problem.factors(),
                                                        problem.step),
                   boost::test_tools::tolerance(1e-6));
    }
}

BOOST_AUTO_TEST_CASE(give_the_same_bits_with_every_instruction_set) {
    for (const std::size_t rank : ranks) {
        small_problem first{rank};
        const double expected =
            sgd_loops_baseline.learn(first.view(), 0, 3, first.factors(), first.step);
        for (const sgd_loops* loops : tables()) {
            small_problem problem{rank};
            BOOST_TEST(loops->learn(problem.view(), 0, 3, problem.factors(), problem.step) ==
                       expected);
            BOOST_TEST((problem.p == first.p));
            BOOST_TEST((problem.q == first.q));
            BOOST_TEST((problem.b == first.b));
            BOOST_TEST((problem.c == first.c));
            BOOST_TEST(loops->squares(problem.view(), problem.factors()) ==
                       sgd_loops_baseline.squares(problem.view(), problem.factors()));
        }
    }
}

BOOST_AUTO_TEST_CASE(leave_zeros_behind_the_rank) {
    small_problem problem{9};
    fastest_sgd_loops().learn(problem.view(), 0, 3, problem.factors(), problem.step);
    for (std::size_t at = 0; at < problem.p.size(); at += 16)
        for (std::size_t k = 9; k < 16; ++k)
            BOOST_TEST(problem.p[at + k] == 0.0F);
}

BOOST_AUTO_TEST_SUITE_END()
