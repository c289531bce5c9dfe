// All-reduce of gradients as they are, between stages of a script on nodes with one rank or several: over a thousand seeds.
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cmath>

#include "actors/collective/reducer.hpp"
#include "tests/sim/reducers_sim.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;
using algorithm = proto::AllReduceAlgorithm;

namespace {

reducers_sim::maker reducers(algorithm by) {
    return [=](node_runtime& node, const compressed_options& options) {
        return node.spawn<reducer>("reducer", reducer_options{by, options.compute, options.shapes});
    };
}

rank_nodes nodes_with(std::uint32_t ranks_of_node, std::uint32_t ranks) {
    std::vector<std::uint32_t> node_of;
    for (std::uint32_t r = 0; r < ranks; ++r)
        node_of.push_back(r / ranks_of_node);
    return rank_nodes{std::move(node_of)};
}

// One rank after the other, in double precision.
std::vector<double> serial_sum(const reducers_script& s, std::uint32_t ranks, std::uint64_t sum,
                               std::size_t tensor_number) {
    memory_pool pool{1u << 24};
    std::vector<double> total(s.shapes[tensor_number].elements());
    for (std::uint32_t r = 0; r < ranks; ++r) {
        if (s.has_nothing(r, sum))
            continue;
        const tensor own = s.gradients(pool, r, sum)[tensor_number];
        for (std::size_t i = 0; i < total.size(); ++i)
            total[i] += static_cast<double>(own.values<float>()[i]);
    }
    for (double& x : total)
        x *= static_cast<double>(s.scale);
    return total;
}

void check_sums(const reducers_sim& run, const reducers_script& s) {
    const auto ranks = static_cast<std::uint32_t>(run.records.size());
    BOOST_TEST(run.all_ranks_have_the_same_bits());
    for (std::uint64_t sum = 0; sum < s.sums; ++sum)
        for (std::size_t t = 0; t < s.shapes.size(); ++t) {
            const auto expected = serial_sum(s, ranks, sum, t);
            const few_numbers& got = run.records[0].sums[sum][t];
            BOOST_TEST_REQUIRE(got.size() == expected.size());
            for (std::size_t i = 0; i < got.size(); ++i)
                BOOST_TEST(std::abs(static_cast<double>(got[i]) - expected[i]) <=
                           (s.exact ? 0 : 1e-6));
        }
}

// What chunks have beside their numbers.
std::uint64_t words_of_a_chunk() {
    memory_pool pool{1u << 20};
    frame_builder<proto::ReduceChunk> empty;
    empty.attach(tensor::allocate(pool, data_type::float32, {0}).value());
    return std::move(empty).finish()->bytes();
}

std::uint64_t numbers_in(const reducers_sim::traffic& t) {
    static const std::uint64_t words = words_of_a_chunk();
    return (t.bytes - t.messages * words) / sizeof(float);
}

// As the table of all_reduce.hpp says, of each rank or, with tree and recursive doubling, of the one that sends most.
// n elements, p ranks on nodes of their own; where p is no power of two, the doubling ones have n more at most.
std::uint64_t said_by_the_table(algorithm by, std::uint64_t p, std::uint64_t n) {
    switch (by) {
    case algorithm::RING:
        return 2 * n * (p - 1) / p;
    case algorithm::RECURSIVE_DOUBLING:
        return n * static_cast<std::uint64_t>(std::bit_width(p) - 1);
    case algorithm::TREE:
        return n * static_cast<std::uint64_t>(std::bit_width(p - 1));
    default: // halving doubling, which the hierarchical way is between nodes
        return 2 * n * (std::bit_floor(p) - 1) / std::bit_floor(p);
    }
}

} // namespace

BOOST_AUTO_TEST_SUITE(dense_sums_over_seeds)

BOOST_AUTO_TEST_CASE(all_ranks_have_the_bits_of_the_serial_sum_whatever_nodes_they_share, *seeded) {
    const auto all = list_algorithms();
    for (const std::uint64_t seed : seed_range{1000}) {
        const algorithm by = all[seed % all.size()];
        const auto ranks = static_cast<std::uint32_t>(2 + seed % 8);
        const auto ranks_of_node = static_cast<std::uint32_t>(1 + seed % 3);
        const reducers_script s{
            .shapes = {{2}, {6, 7}, {5}, {3, 2, 4}}, .seed = seed, .exact = seed / 8 % 4 != 0};
        BOOST_TEST_CONTEXT(name_of(by) << " of " << ranks) {
            check_sums(reducers_sim{s, nullptr, ranks, bad_weather, reducers(by), ranks_of_node},
                       s);
        }
    }
}

BOOST_AUTO_TEST_CASE(two_nodes_with_two_ranks_each_sum_within_them_and_between_them, *seeded) {
    for (const std::uint64_t seed : seed_range{100}) {
        const reducers_script s{
            .shapes = {{40, 50}, {30}}, .seed = seed, .exact = seed / 8 % 4 != 0};
        const reducers_sim run{s, nullptr, 4, bad_weather, reducers(algorithm::HIERARCHICAL), 2};
        check_sums(run, s);
        for (const std::uint32_t second : {1u, 3u})
            BOOST_TEST(run.sent_to_other_nodes_by(second).messages == 0u);
        for (const std::uint32_t first : {0u, 2u})
            BOOST_TEST(run.sent_to_other_nodes_by(first).messages > 0u);
    }
}

BOOST_AUTO_TEST_CASE(ranks_send_the_bytes_of_the_table) {
    for (const algorithm by : list_algorithms())
        for (std::uint32_t ranks = 2; ranks <= 9; ++ranks) {
            const std::size_t n = 240 * ranks;
            const reducers_script s{.shapes = {{n - 30}, {30}}, .sums = 1};
            const reducers_sim run{s, nullptr, ranks, {}, reducers(by)};
            const std::uint64_t said = said_by_the_table(by, ranks, n);
            const bool folds =
                !std::has_single_bit(ranks) && by != algorithm::RING && by != algorithm::TREE;
            std::uint64_t most = 0;
            BOOST_TEST_CONTEXT(name_of(by) << " of " << ranks) {
                for (std::uint32_t r = 0; r < ranks; ++r) {
                    const std::uint64_t sent = numbers_in(run.sent_by(r));
                    most = std::max(most, sent);
                    if (!folds && by != algorithm::TREE)
                        BOOST_TEST(sent == said);
                }
                BOOST_TEST(most <= said + (folds ? n : 0));
                BOOST_TEST(most >= said);
                BOOST_TEST(most == elements_sent_max(by, ranks, n));
            }
        }
}

// Within a node by memory: of m ranks the first passes the sums on to the others, ceil(log2 m) times.
BOOST_AUTO_TEST_CASE(between_nodes_the_hierarchical_way_sends_what_one_rank_of_each_would) {
    for (const std::uint32_t m : {2u, 3u, 4u})
        for (const std::uint32_t q : {2u, 4u}) {
            const std::size_t n = 240 * q;
            const reducers_script s{.shapes = {{n}}, .sums = 1};
            const algorithm by = algorithm::HIERARCHICAL;
            const reducers_sim run{s, nullptr, m * q, {}, reducers(by), m};
            const std::uint64_t between = said_by_the_table(by, q, n);
            BOOST_TEST_CONTEXT(q << " nodes with " << m) {
                std::uint64_t most = 0;
                for (std::uint32_t r = 0; r < m * q; ++r) {
                    most = std::max(most, numbers_in(run.sent_by(r)));
                    BOOST_TEST(numbers_in(run.sent_to_other_nodes_by(r)) ==
                               (r % m == 0 ? between : 0));
                }
                BOOST_TEST(most == between + n * static_cast<std::uint64_t>(std::bit_width(m - 1)));
                BOOST_TEST(most == elements_sent_max(by, nodes_with(m, m * q), n));
            }
        }
}

// What is more than a slice is sent in several, and in all as much.
BOOST_AUTO_TEST_CASE(slices_send_the_bytes_of_the_table) {
    for (const algorithm by : list_algorithms()) {
        const std::size_t n = 3 * message_elements_default + 5;
        const reducers_script s{.shapes = {{n}}, .sums = 1};
        const reducers_sim run{s, nullptr, 4, {}, reducers(by), 2};
        std::uint64_t most = 0;
        for (std::uint32_t r = 0; r < 4; ++r)
            most = std::max(most, numbers_in(run.sent_by(r)));
        BOOST_TEST(most == elements_sent_max(by, nodes_with(2, 4), n), name_of(by));
    }
}

BOOST_AUTO_TEST_SUITE_END()
