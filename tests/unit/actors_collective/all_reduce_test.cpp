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
outcome run(algorithm a, std::uint32_t ranks, std::size_t elements) {
    const std::size_t segments = segments_of(a, ranks);
    outcome out;
    out.sent.resize(ranks);
    out.messages.resize(ranks);
    std::map<std::uint32_t, std::map<std::uint32_t, reduce_transfer>> rounds; // round, rank
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        out.elements.emplace_back(elements, std::to_string(rank));
        std::uint32_t last = 0;
        const auto list = list_transfers(a, rank, ranks);
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

} // namespace

BOOST_AUTO_TEST_SUITE(all_reduce)

BOOST_AUTO_TEST_CASE(every_rank_ends_with_the_same_sum_of_each_contribution_once) {
    for (const algorithm a : algorithms)
        for (std::uint32_t ranks = 1; ranks <= 17; ++ranks)
            for (const std::size_t elements : {1u, 2u, 3u, 7u, 16u, 33u, 64u}) {
                BOOST_TEST_CONTEXT(name_of(a) << " of " << ranks << ", " << elements) {
                    const outcome out = run(a, ranks, elements);
                    for (std::size_t e = 0; e < elements; ++e) {
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
                            terms.push_back(
                                static_cast<std::uint32_t>(std::stoul(digits.substr(at), &used)));
                            at += used;
                        }
                        std::ranges::sort(terms);
                        BOOST_TEST_REQUIRE(terms.size() == ranks);
                        for (std::uint32_t rank = 0; rank < ranks; ++rank)
                            BOOST_TEST(terms[rank] == rank);
                    }
                }
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

BOOST_AUTO_TEST_CASE(the_automatic_choice_takes_few_messages_for_little_and_few_bytes_for_much) {
    constexpr link_cost link{.latency_ns = 30'000, .byte_ns = 0.33};
    const auto chosen = [&](std::uint32_t ranks, std::size_t elements) {
        return choose(algorithm::AUTO, ranks, elements, link);
    };
    BOOST_TEST((chosen(8, 64) == algorithm::RECURSIVE_DOUBLING));
    BOOST_TEST((chosen(8, 1u << 24) == algorithm::HALVING_DOUBLING));
    BOOST_TEST((chosen(7, 1u << 24) == algorithm::RING));
    BOOST_TEST((choose(algorithm::TREE, 8, 64, link) == algorithm::TREE));
    for (std::uint32_t ranks = 2; ranks <= 16; ++ranks)
        for (std::size_t elements = 1; elements < (1u << 26); elements *= 8)
            for (const algorithm a : algorithms)
                BOOST_TEST(estimate_ns(chosen(ranks, elements), ranks, elements, link) <=
                           estimate_ns(a, ranks, elements, link));
}

BOOST_AUTO_TEST_SUITE_END()
