// Who sends to whom, by enumeration.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <numeric>

#include "actors/peers/malt_graph.hpp"

using namespace troupe;
using graph = proto::MaltGraph;
using ranks = std::vector<std::uint32_t>;

namespace {

ranks first(std::uint32_t n) {
    ranks live(n);
    std::iota(live.begin(), live.end(), 0u);
    return live;
}

// How many there is a way to.
std::size_t reached(graph g, std::uint32_t from, const ranks& live) {
    ranks found{from};
    for (std::size_t k = 0; k < found.size(); ++k)
        for (const std::uint32_t to : out_edges(g, found[k], live))
            if (std::ranges::count(found, to) == 0)
                found.push_back(to);
    return found.size();
}

void check_graph(graph g, const ranks& live) {
    std::size_t messages = 0;
    for (const std::uint32_t r : live) {
        const ranks to = out_edges(g, r, live);
        messages += to.size();
        BOOST_TEST(std::ranges::is_sorted(to));
        BOOST_TEST((std::ranges::adjacent_find(to) == to.end()));
        BOOST_TEST(std::ranges::count(to, r) == 0);
        for (const std::uint32_t other : to)
            BOOST_TEST(std::ranges::count(live, other) == 1);
        BOOST_TEST(reached(g, r, live) == live.size());
        if (g != graph::SERVER)
            BOOST_TEST(in_degree(g, r, live) == to.size());
    }
    const std::size_t n = live.size();
    const std::size_t expected = g == graph::ALL      ? n * (n - 1)
                                 : g == graph::SERVER ? 2 * (n - 1)
                                                      : n * (std::bit_width(n) - 1);
    BOOST_TEST(messages == expected);
}

} // namespace

BOOST_AUTO_TEST_SUITE(malt_graphs)

BOOST_AUTO_TEST_CASE(from_everywhere_there_is_a_way_to_everywhere_by_as_many_messages_as_it_says) {
    for (const graph g : {graph::ALL, graph::HALTON, graph::SERVER})
        for (std::uint32_t n = 2; n <= 64; ++n)
            BOOST_TEST_CONTEXT("graph " << static_cast<int>(g) << " of " << n)
    check_graph(g, first(n));
}

BOOST_AUTO_TEST_CASE(the_graph_of_those_that_live_is_one_again) {
    for (const graph g : {graph::ALL, graph::HALTON, graph::SERVER})
        for (const ranks& live :
             {ranks{1, 2}, {0, 3, 4, 9}, {2, 5, 6, 7, 11}, {1, 3, 5, 7, 9, 11, 13, 15}})
            check_graph(g, live);
    BOOST_TEST(out_edges(graph::HALTON, 3, {3}).empty());
}

BOOST_AUTO_TEST_CASE(halton_goes_around_by_the_radical_inverse) {
    const double inverses[] = {1.0 / 2, 1.0 / 4, 3.0 / 4, 1.0 / 8,
                               5.0 / 8, 3.0 / 8, 7.0 / 8, 1.0 / 16};
    for (std::uint32_t i = 0; i < std::size(inverses); ++i)
        BOOST_TEST(halton(i) == inverses[i]);
    BOOST_TEST(out_edges(graph::HALTON, 0, first(2)) == (ranks{1}));
    BOOST_TEST(out_edges(graph::HALTON, 0, first(4)) == (ranks{1, 3}));    // 2, 1 turned
    BOOST_TEST(out_edges(graph::HALTON, 0, first(8)) == (ranks{1, 3, 6})); // 4, 2, 6 turned
    BOOST_TEST(out_edges(graph::HALTON, 5, first(8)) == (ranks{0, 3, 6}));
}

BOOST_AUTO_TEST_CASE(stamps_of_a_sender_never_go_back) {
    newest_stamps stamps{2};
    BOOST_TEST(stamps.take(0, 0));
    BOOST_TEST(stamps.take(0, 3));
    BOOST_TEST(!stamps.take(0, 3));
    BOOST_TEST(!stamps.take(0, 1));
    BOOST_TEST(stamps.take(1, 0));
    BOOST_TEST(stamps.take(0, 4));
}

BOOST_AUTO_TEST_SUITE_END()
