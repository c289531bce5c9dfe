// Sparse all-reduce by enumeration: all ranks in one loop.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "actors/collective/sparse_reduce.hpp"

using namespace troupe;

namespace {

constexpr sparse_algorithm algorithms[] = {
    sparse_algorithm::recursive_doubling, sparse_algorithm::split_all_gather,
    sparse_algorithm::split_dense, sparse_algorithm::halving_doubling};

struct outcome {
    std::vector<sparse_vector> sums; // by rank
    std::vector<std::size_t> bytes;  // sent, by rank
    std::vector<std::size_t> messages;
};

outcome run(sparse_algorithm a, const std::vector<sparse_vector>& own) {
    const auto ranks = static_cast<std::uint32_t>(own.size());
    outcome out;
    out.bytes.resize(ranks);
    out.messages.resize(ranks);
    std::vector<sparse_reduction> all;
    for (std::uint32_t r = 0; r < ranks; ++r)
        all.emplace_back(a, r, ranks, own[r]);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<sparse_vector>>
        under_way; // to, round
    for (bool moved = true; moved;) {
        moved = false;
        for (std::uint32_t r = 0; r < ranks; ++r) {
            while (const reduce_transfer* const t = all[r].next_to_send()) {
                const std::vector<sparse_vector> part = all[r].send();
                for (const sparse_vector& segment : part)
                    out.bytes[r] += segment.bytes();
                ++out.messages[r];
                BOOST_TEST(under_way.emplace(std::pair{t->to, t->round}, part).second);
                moved = true;
            }
            const reduce_transfer* const t = all[r].next_to_take();
            const auto part =
                t ? under_way.extract({r, t->round}) : decltype(under_way)::node_type{};
            if (part.empty())
                continue;
            BOOST_REQUIRE(part.mapped().size() == t->receives.count);
            for (std::size_t i = 0; i < part.mapped().size(); ++i)
                BOOST_TEST(all[r].elements_to_take(i) == part.mapped()[i].dimension);
            BOOST_REQUIRE(all[r].accept(part.mapped()).ok());
            moved = true;
        }
    }
    BOOST_TEST(under_way.empty());
    for (const sparse_reduction& one : all) {
        BOOST_TEST(one.is_done());
        out.sums.push_back(one.sum());
    }
    return out;
}

// So many numbers, small integers, at places by lot.
sparse_vector random_vector(std::size_t dimension, std::size_t numbers, std::mt19937& random) {
    std::vector<std::uint32_t> places(dimension);
    for (std::uint32_t i = 0; i < dimension; ++i)
        places[i] = i;
    std::ranges::shuffle(places, random);
    places.resize(numbers);
    std::ranges::sort(places);
    std::vector<float> values;
    for (std::size_t i = 0; i < numbers; ++i)
        values.push_back(static_cast<float>(random() % 200) - 100);
    return sparse_vector::make(dimension, std::move(places), std::move(values));
}

// Every `step`-th number from `first` on.
sparse_vector every(std::size_t dimension, std::size_t step, std::size_t first) {
    std::vector<std::uint32_t> places;
    for (std::size_t i = first; i < dimension; i += step)
        places.push_back(static_cast<std::uint32_t>(i));
    std::vector<float> values(places.size(), 1.0f);
    return sparse_vector::make(dimension, std::move(places), std::move(values));
}

} // namespace

BOOST_AUTO_TEST_SUITE(sparse_all_reduce)

BOOST_AUTO_TEST_CASE(every_rank_ends_with_the_dense_sum_and_all_with_the_same_bytes) {
    std::mt19937 random{1};
    for (const sparse_algorithm a : algorithms)
        for (std::uint32_t ranks = 1; ranks <= 9; ++ranks)
            for (const std::size_t dimension : {1u, 2u, 5u, 64u, 1000u})
                for (const std::size_t numbers : {dimension / 100, dimension / 3, dimension}) {
                    std::vector<sparse_vector> own;
                    std::vector<float> sums(dimension);
                    for (std::uint32_t r = 0; r < ranks; ++r) {
                        own.push_back(random_vector(dimension, numbers, random));
                        const auto all = own.back().all();
                        for (std::size_t i = 0; i < dimension; ++i)
                            sums[i] += all[i];
                    }
                    const outcome out = run(a, own);
                    for (const sparse_vector& sum : out.sums) {
                        BOOST_TEST((sum == out.sums[0]));
                        BOOST_TEST(sum.all() == sums, boost::test_tools::per_element());
                    }
                }
}

BOOST_AUTO_TEST_CASE(a_sum_becomes_dense_at_exactly_the_rule) {
    for (std::size_t dimension = 0; dimension <= 40; ++dimension)
        for (std::size_t a = 0; a < dimension; ++a)
            for (std::size_t b = 0; b < dimension; ++b) {
                std::mt19937 random{static_cast<std::uint32_t>(a * 41 + b)};
                const sparse_vector sum = sum_of(random_vector(dimension, a, random),
                                                 random_vector(dimension, b, random));
                const bool is_dense = (a + b) * 8 >= dimension * 4;
                BOOST_TEST(sum.is_dense() == is_dense);
                BOOST_TEST(sum.values.size() <= (is_dense ? dimension : a + b));
            }
    BOOST_TEST(!is_dense_sum(24, 25, 100));
    BOOST_TEST(is_dense_sum(25, 25, 100));
    // One that is dense stays it, however little is added.
    BOOST_TEST(sum_of(sparse_vector::dense(std::vector<float>(100)), every(100, 50, 0)).is_dense());
}

BOOST_AUTO_TEST_CASE(a_vector_takes_the_bytes_of_its_form) {
    BOOST_TEST(every(100, 10, 0).bytes() == 10 * 8u);
    BOOST_TEST(sparse_vector::dense(std::vector<float>(100)).bytes() == 100 * 4u);
    BOOST_TEST(sparse_vector::make(100, {}, {}).bytes() == 0u);
    BOOST_TEST(every(10, 1, 0).is_dense()); // none is missing
}

BOOST_AUTO_TEST_CASE(recursive_doubling_sends_what_the_formula_says) {
    constexpr std::size_t dimension = 1 << 12;
    for (const std::uint32_t ranks : {2u, 4u, 8u, 16u}) {
        const std::size_t rounds = static_cast<std::size_t>(std::log2(ranks));
        constexpr std::size_t k = dimension / 64;
        std::vector<sparse_vector> same(ranks, every(dimension, 64, 0)), apart;
        for (std::uint32_t r = 0; r < ranks; ++r)
            apart.push_back(every(dimension, 64, r));
        const outcome least = run(sparse_algorithm::recursive_doubling, same);
        const outcome most = run(sparse_algorithm::recursive_doubling, apart);
        for (std::uint32_t r = 0; r < ranks; ++r) {
            BOOST_TEST(least.bytes[r] == rounds * 8 * k);
            BOOST_TEST(most.bytes[r] == 8 * k * (ranks - 1));
            BOOST_TEST(most.bytes[r] == bytes_sent(sparse_algorithm::recursive_doubling, ranks,
                                                   {.dimension = dimension, .numbers = k}));
            BOOST_TEST(most.messages[r] == rounds);
        }
    }
    // From where 2 * 512 numbers are half of 2048 on it is dense: the second of two rounds sends all.
    std::vector<sparse_vector> apart;
    for (std::size_t r = 0; r < 4; ++r)
        apart.push_back(every(2048, 4, r));
    for (const std::size_t bytes : run(sparse_algorithm::recursive_doubling, apart).bytes)
        BOOST_TEST(bytes == 8 * 512u + 4 * 2048u);
}

BOOST_AUTO_TEST_CASE(split_all_gather_sends_what_the_formula_says) {
    for (const std::uint32_t ranks : {2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
        const std::size_t dimension = 840 * 64, block = dimension / ranks;
        const std::size_t k = 840; // of each rank, as many in each block
        std::vector<sparse_vector> same(ranks, every(dimension, 64, 0)), apart;
        for (std::uint32_t r = 0; r < ranks; ++r)
            apart.push_back(every(dimension, 64, r));
        const outcome least = run(sparse_algorithm::split_all_gather, same);
        const outcome most = run(sparse_algorithm::split_all_gather, apart);
        const outcome dense = run(sparse_algorithm::split_dense, apart);
        for (std::uint32_t r = 0; r < ranks; ++r) {
            const std::size_t split = (ranks - 1) * 8 * k / ranks;
            BOOST_TEST(least.bytes[r] == 2 * split);
            BOOST_TEST(most.bytes[r] == split + (ranks - 1) * 8 * k);
            BOOST_TEST(dense.bytes[r] == split + (ranks - 1) * 4 * block);
            BOOST_TEST(most.messages[r] == 2 * (ranks - 1));
            const sparse_load load{.dimension = dimension, .numbers = k};
            if (8 * k * ranks <= 4 * dimension)
                BOOST_TEST(most.bytes[r] ==
                           bytes_sent(sparse_algorithm::split_all_gather, ranks, load));
            BOOST_TEST(dense.bytes[r] == bytes_sent(sparse_algorithm::split_dense, ranks, load));
        }
    }
}

BOOST_AUTO_TEST_CASE(each_contribution_is_sent_to_who_sums_it_once) {
    for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) {
        std::vector<sparse_vector> own;
        for (std::uint32_t r = 0; r < ranks; ++r)
            own.push_back(
                sparse_vector::make(64, {7, 8}, {std::ldexp(1.0f, static_cast<int>(r)), 1}));
        for (const sparse_algorithm a : algorithms)
            for (const sparse_vector& sum : run(a, own).sums) {
                BOOST_TEST(sum.all()[7] == std::ldexp(1.0f, static_cast<int>(ranks)) - 1);
                BOOST_TEST(sum.all()[8] == static_cast<float>(ranks));
            }
    }
}

BOOST_AUTO_TEST_CASE(
    all_ranks_end_with_the_same_bits_whatever_rounds_and_whose_zeros_are_negative) {
    std::mt19937 random{3};
    for (const sparse_algorithm a : algorithms)
        for (std::uint32_t ranks = 2; ranks <= 9; ++ranks)
            for (const std::size_t numbers : {3u, 20u, 40u, 64u}) {
                std::vector<sparse_vector> own;
                for (std::uint32_t r = 0; r < ranks; ++r) {
                    own.push_back(random_vector(64, r == 1 ? 64 : numbers, random));
                    for (float& x : own.back().values)
                        x = random() % 4 == 0 ? -0.0f : x / 3;
                }
                const outcome out = run(a, own);
                for (const sparse_vector& sum : out.sums) {
                    BOOST_TEST((sum.indices == out.sums[0].indices));
                    BOOST_TEST(std::memcmp(sum.values.data(), out.sums[0].values.data(),
                                           sum.values.size() * sizeof(float)) == 0);
                }
            }
}

BOOST_AUTO_TEST_CASE(a_block_is_summed_in_the_order_of_the_ranks_from_its_owner_down) {
    for (std::uint32_t ranks = 2; ranks <= 9; ++ranks) {
        std::mt19937 random{ranks};
        std::vector<sparse_vector> own;
        for (std::uint32_t r = 0; r < ranks; ++r) {
            own.push_back(random_vector(90, 60, random));
            for (float& x : own.back().values)
                x /= 3;
        }
        const auto sum = run(sparse_algorithm::split_all_gather, own).sums[0].all();
        for (std::size_t s = 0; s < ranks; ++s) {
            const index_range block = elements_of(s, ranks, 90);
            for (std::size_t i = block.first; i < block.first + block.count; ++i) {
                float serial = own[s].all()[i];
                for (std::uint32_t away = 1; away < ranks; ++away)
                    serial += own[(s + ranks - away) % ranks].all()[i];
                BOOST_TEST(sum[i] == serial);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_part_of_another_dimension_is_refused) {
    sparse_reduction one{sparse_algorithm::recursive_doubling, 0, 2, every(100, 10, 0)};
    one.send();
    const auto taken = one.accept({every(99, 10, 0)});
    BOOST_REQUIRE(!taken.ok());
    BOOST_TEST(taken.failure().message() == "a part of 99 numbers where 100 are due");
}

BOOST_AUTO_TEST_CASE(few_numbers_go_in_few_messages_and_many_in_blocks) {
    const auto chosen = [](std::uint32_t ranks, std::size_t dimension, std::size_t numbers) {
        return choose_sparse(ranks, {.dimension = dimension, .numbers = numbers});
    };
    BOOST_TEST((chosen(8, 1u << 20, 100) == sparse_algorithm::recursive_doubling));
    BOOST_TEST((chosen(8, 1u << 24, 1'310'720) == sparse_algorithm::split_all_gather));
    BOOST_TEST((chosen(8, 1u << 24, 1u << 22) == sparse_algorithm::split_dense));
    BOOST_TEST((chosen(3, 1u << 24, 1u << 16) == std::nullopt)); // folding would send more
    BOOST_TEST((chosen(2, 1u << 24, 1u << 16) == sparse_algorithm::recursive_doubling));
    BOOST_TEST((chosen(2, std::size_t{1} << 32, 100) == std::nullopt)); // indices have 32 bits
}

BOOST_AUTO_TEST_SUITE_END()
