// All-reduce algorithms by enumeration: all ranks in one loop, whose elements are lists of what was added to them.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "actors/collective/all_reduce.hpp"

using namespace troupe;
using algorithm = proto::AllReduceAlgorithm;

namespace {

const std::vector<algorithm> algorithms = list_algorithms();

// What became of an element: the order in which contributions were added, as "(0+(1+2))".
using history = std::string;

std::string sum_of(const history& a, const history& b) {
    return "(" + std::min(a, b) + "+" + std::max(a, b) + ")"; // IEEE addition commutes
}

struct outcome {
    std::vector<std::vector<history>> elements; // by rank
    std::vector<std::size_t> sent;              // elements, by rank
    std::vector<std::size_t> messages;
    std::size_t rounds = 0;
};

std::vector<std::size_t> elements_in(index_range segments, std::size_t all, std::size_t elements) {
    std::vector<std::size_t> list;
    for (std::size_t s = segments.first; s < segments.first + segments.count; ++s) {
        const index_range at = elements_of(s, all, elements);
        for (std::size_t e = at.first; e < at.first + at.count; ++e)
            list.push_back(e);
    }
    return list;
}

// Runs the rounds of all ranks at once, and checks that what one sends another awaits.
outcome run(algorithm a, const rank_nodes& all, std::size_t elements) {
    const std::uint32_t ranks = all.ranks();
    const std::size_t segments = segments_of(a, all);
    outcome out;
    out.sent.resize(ranks);
    out.messages.resize(ranks);
    std::map<std::uint32_t, std::map<std::uint32_t, reduce_transfer>> rounds; // round, rank
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        out.elements.emplace_back(elements, std::to_string(rank));
        std::uint32_t last = 0;
        const auto list = list_transfers(a, rank, all);
        for (std::size_t i = 0; i < list.size(); ++i) {
            BOOST_TEST_REQUIRE((i == 0 || list[i].round > last));
            last = list[i].round;
            rounds[last][rank] = list[i];
        }
    }
    for (const auto& [round, transfers] : rounds) {
        ++out.rounds;
        const auto before = out.elements;
        std::size_t awaited = 0, sent = 0;
        for (const auto& [rank, t] : transfers) {
            sent += t.to != nobody;
            if (t.to != nobody) {
                const auto list = elements_in(t.sends, segments, elements);
                out.sent[rank] += list.size();
                out.messages[rank] += !list.empty();
            } else {
                BOOST_TEST(t.sends.count == 0u);
            }
            if (t.from == nobody)
                continue;
            ++awaited;
            BOOST_TEST_REQUIRE(transfers.contains(t.from));
            const reduce_transfer& other = transfers.at(t.from);
            BOOST_TEST_REQUIRE(other.to == rank);
            BOOST_TEST_REQUIRE((other.sends == t.receives));
            for (const std::size_t e : elements_in(t.receives, segments, elements))
                out.elements[rank][e] =
                    t.adds ? sum_of(before[rank][e], before[t.from][e]) : before[t.from][e];
        }
        BOOST_TEST(awaited == sent);
    }
    return out;
}

std::size_t log2_down(std::uint32_t ranks) {
    return static_cast<std::size_t>(std::log2(ranks));
}

std::size_t log2_up(std::uint32_t ranks) {
    return static_cast<std::size_t>(std::ceil(std::log2(ranks)));
}

bool is_power(std::uint32_t ranks) {
    return (ranks & (ranks - 1)) == 0;
}

// That all ranks have the same, each contribution in it once.
void check_sums(const outcome& out) {
    const std::size_t ranks = out.elements.size();
    for (std::size_t e = 0; e < out.elements[0].size(); ++e) {
        const history& first = out.elements[0][e];
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            BOOST_TEST(out.elements[rank][e] == first);
        std::string digits = first;
        std::ranges::replace_if(
            digits, [](char c) { return c < '0' || c > '9'; }, ' ');
        std::vector<std::uint32_t> terms;
        for (std::size_t at = 0; at < digits.size();) {
            if (digits[at] == ' ') {
                ++at;
                continue;
            }
            std::size_t used = 0;
            terms.push_back(static_cast<std::uint32_t>(std::stoul(digits.substr(at), &used)));
            at += used;
        }
        std::ranges::sort(terms);
        BOOST_TEST_REQUIRE(terms.size() == ranks);
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            BOOST_TEST(terms[rank] == rank);
    }
}

// By rank: the number of its node.
const std::vector<std::vector<std::uint32_t>> some_nodes = {
    {0, 0},       {0, 0, 1},          {0, 1, 0, 1},          {0, 0, 0, 1, 1, 1, 2},
    {7, 3, 3, 7}, {0, 1, 2, 3, 4, 4}, {0, 0, 0, 0, 0, 0, 0}, {5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1}};

} // namespace

BOOST_AUTO_TEST_SUITE(all_reduce)

BOOST_AUTO_TEST_CASE(every_rank_ends_with_the_same_sum_of_each_contribution_once) {
    for (const algorithm a : algorithms)
        for (std::uint32_t ranks = 1; ranks <= 17; ++ranks)
            for (const std::size_t elements : {1u, 2u, 3u, 7u, 16u, 33u, 64u}) {
                BOOST_TEST_CONTEXT(name_of(a) << " of " << ranks << ", " << elements)
                check_sums(run(a, ranks, elements));
            }
}

BOOST_AUTO_TEST_CASE(ranks_that_share_nodes_end_with_the_same_sums_whatever_nodes_they_share) {
    for (const std::vector<std::uint32_t>& nodes : some_nodes)
        for (const algorithm a : algorithms)
            for (const std::size_t elements : {1u, 3u, 16u, 33u}) {
                BOOST_TEST_CONTEXT(name_of(a) << ", " << elements)
                check_sums(run(a, rank_nodes{nodes}, elements));
            }
}

BOOST_AUTO_TEST_CASE(the_hierarchical_way_sends_between_nodes_what_their_first_ranks_would) {
    for (const std::vector<std::uint32_t>& nodes : some_nodes) {
        const rank_nodes all{nodes};
        const auto firsts = all.first_of_nodes();
        const auto count = static_cast<std::uint32_t>(firsts.size());
        const std::size_t elements = 240 * count;
        std::vector<std::size_t> between(all.ranks());
        for (std::uint32_t rank = 0; rank < all.ranks(); ++rank)
            for (const reduce_transfer& t : list_transfers(algorithm::HIERARCHICAL, rank, all))
                if (t.to != nobody && !all.share_node(rank, t.to))
                    between[rank] +=
                        elements_in(t.sends, segments_of(algorithm::HIERARCHICAL, all), elements)
                            .size();
        const outcome alone = run(algorithm::HALVING_DOUBLING, count, elements);
        for (std::uint32_t n = 0; n < count; ++n)
            BOOST_TEST(between[firsts[n]] == (count == 1 ? 0 : alone.sent[n]));
        std::size_t sum = 0, sum_alone = 0;
        for (const std::size_t sent : between)
            sum += sent;
        for (const std::size_t sent : alone.sent)
            sum_alone += sent;
        BOOST_TEST(sum == (count == 1 ? 0 : sum_alone));
    }
}

BOOST_AUTO_TEST_CASE(what_is_sent_is_what_the_table_says) {
    for (std::uint32_t p = 2; p <= 17; ++p) {
        const std::size_t n = 240 * p;
        const outcome r = run(algorithm::RING, p, n);
        BOOST_TEST(r.rounds == 2 * (p - 1));
        for (std::uint32_t rank = 0; rank < p; ++rank) {
            BOOST_TEST(r.sent[rank] == 2 * (p - 1) * n / p);
            BOOST_TEST(r.messages[rank] == 2 * (p - 1));
        }
        const std::size_t folds = is_power(p) ? 0 : 2;
        const outcome d = run(algorithm::RECURSIVE_DOUBLING, p, n);
        BOOST_TEST(d.rounds == log2_down(p) + folds);
        const outcome h = run(algorithm::HALVING_DOUBLING, p, n);
        BOOST_TEST(h.rounds == 2 * log2_down(p) + folds);
        for (std::uint32_t rank = 0; is_power(p) && rank < p; ++rank) {
            BOOST_TEST(d.sent[rank] == n * log2_down(p));
            BOOST_TEST(h.sent[rank] == 2 * (p - 1) * n / p);
        }
        BOOST_TEST(std::ranges::max(d.sent) <= n * (log2_down(p) + (folds > 0 ? 1 : 0)));
        const outcome t = run(algorithm::TREE, p, n);
        BOOST_TEST(t.rounds == 2 * log2_up(p));
        BOOST_TEST(std::ranges::max(t.sent) == n * log2_up(p));
        BOOST_TEST(t.sent[0] == n * log2_up(p));
    }
}

BOOST_AUTO_TEST_CASE(segments_differ_by_at_most_one_element_and_cover_all) {
    for (std::size_t segments = 1; segments <= 9; ++segments)
        for (std::size_t elements = 0; elements <= 40; ++elements) {
            std::size_t next = 0, least = elements, most = 0;
            for (std::size_t s = 0; s < segments; ++s) {
                const index_range at = elements_of(s, segments, elements);
                BOOST_TEST(at.first == next);
                next += at.count;
                least = std::min(least, at.count);
                most = std::max(most, at.count);
            }
            BOOST_TEST(next == elements);
            BOOST_TEST(most - least <= 1u);
        }
}

BOOST_AUTO_TEST_CASE(slices_cover_all_from_the_last_and_add_nothing_to_what_is_sent) {
    for (const algorithm a : algorithms)
        for (std::uint32_t ranks = 2; ranks <= 7; ++ranks)
            for (const std::size_t elements : {0u, 1u, 5u, 16u, 420u, 16 * 420u, 100'003u}) {
                const std::size_t segments = segments_of(a, ranks);
                std::size_t end = elements;
                std::vector<std::size_t> sent(ranks);
                for (const index_range slice : cut_into_slices(elements, segments, 100)) {
                    BOOST_TEST(slice.first + slice.count == end);
                    BOOST_TEST(slice.count > 0u);
                    end = slice.first;
                    BOOST_TEST((end == 0 || slice.count % (16 * segments) == 0));
                    const outcome of_slice = run(a, ranks, slice.count);
                    for (std::uint32_t r = 0; r < ranks; ++r)
                        sent[r] += of_slice.sent[r];
                }
                BOOST_TEST(end == 0u);
                if (elements > 0)
                    BOOST_TEST(sent == run(a, ranks, elements).sent,
                               boost::test_tools::per_element());
                BOOST_TEST(std::ranges::max(sent) == elements_sent_max(a, ranks, elements));
            }
}

BOOST_AUTO_TEST_CASE(the_automatic_choice_takes_few_messages_for_little_and_few_bytes_for_much) {
    const auto chosen = [&](std::uint32_t ranks, std::size_t elements) {
        return choose(algorithm::AUTO, ranks, elements);
    };
    BOOST_TEST((chosen(8, 64) == algorithm::RECURSIVE_DOUBLING));
    BOOST_TEST((chosen(8, 1u << 24) == algorithm::HALVING_DOUBLING));
    BOOST_TEST((chosen(7, 1u << 24) == algorithm::RING));
    BOOST_TEST((choose(algorithm::TREE, 8, 64) == algorithm::TREE));
    const rank_nodes four_and_four{{0, 0, 0, 0, 1, 1, 1, 1}};
    BOOST_TEST((choose(algorithm::AUTO, four_and_four, 1u << 18) == algorithm::HIERARCHICAL));
    for (std::uint32_t ranks = 2; ranks <= 16; ++ranks)
        for (std::size_t elements = 1; elements < (1u << 26); elements *= 8)
            for (const algorithm a : algorithms)
                BOOST_TEST(estimate_ns(chosen(ranks, elements), ranks, elements) <=
                           estimate_ns(a, ranks, elements));
}

BOOST_AUTO_TEST_SUITE_END()
