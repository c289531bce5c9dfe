#include "transport/node/routes.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace troupe;

namespace {

const link_routes nothing{};
const link_routes memory_or_tcp{.shared_memory = true, .tcp = true};
const link_routes everything{.shared_memory = true, .rdma = true, .tcp = true};
const link_routes memory_alone{.shared_memory = true};
const link_routes rdma_alone{.rdma = true};
const link_routes tcp_alone{.tcp = true};

} // namespace

BOOST_AUTO_TEST_SUITE(routes)

BOOST_AUTO_TEST_CASE(a_node_has_what_it_may_use_of_what_there_is) {
    using enum link_transports;
    struct {
        link_transports asked;
        bool loopback_only, has_memory_mark, has_rdma_devices;
        link_routes routes;
        link_route likely;
    } const cases[] = {
        {automatic, true, true, false, memory_or_tcp, link_route::shared_memory},
        {automatic, true, true, true, memory_or_tcp, link_route::shared_memory},
        {automatic, true, false, false, tcp_alone, link_route::tcp},
        {automatic, false, true, false, memory_or_tcp, link_route::tcp},
        {automatic, false, true, true, everything, link_route::rdma},
        {automatic, false, false, true, {.rdma = true, .tcp = true}, link_route::rdma},
        {automatic, false, false, false, tcp_alone, link_route::tcp},
        {shm, true, true, true, memory_alone, link_route::shared_memory},
        {shm, false, true, true, memory_alone, link_route::shared_memory},
        {shm, false, false, true, nothing, link_route::tcp},
        {tcp, true, true, true, tcp_alone, link_route::tcp},
        {tcp, false, true, true, tcp_alone, link_route::tcp},
        {rdma, true, true, true, rdma_alone, link_route::rdma},
        {rdma, false, true, true, rdma_alone, link_route::rdma},
        {rdma, false, true, false, nothing, link_route::tcp},
    };
    for (const auto& c : cases) {
        BOOST_TEST_INFO("case " << &c - cases);
        const link_routes routes =
            routes_of(c.asked, {c.loopback_only, c.has_memory_mark, c.has_rdma_devices});
        BOOST_TEST((routes == c.routes));
        if (c.routes == nothing)
            continue; // refused before anybody asks
        BOOST_TEST_INFO("case " << &c - cases);
        BOOST_TEST((likely_route(routes, c.loopback_only) == c.likely));
    }
    BOOST_TEST(looks_for_rdma(automatic, false));
    BOOST_TEST(!looks_for_rdma(automatic, true));
    BOOST_TEST(!looks_for_rdma(tcp, false));
    BOOST_TEST(!looks_for_rdma(shm, false));
    BOOST_TEST(looks_for_rdma(rdma, true));
}

BOOST_AUTO_TEST_CASE(both_of_two_nodes_come_to_the_best_way_that_both_have) {
    const link_routes all[] = {memory_or_tcp, everything, memory_alone, rdma_alone, tcp_alone};
    for (const link_routes& a : all)
        for (const link_routes& b : all)
            for (const bool shared : {false, true}) {
                const auto route = route_between(a, b, shared), back = route_between(b, a, shared);
                BOOST_TEST_REQUIRE(route.ok() == back.ok());
                if (!route) {
                    BOOST_TEST((route.failure().code() == errc::refused));
                    continue;
                }
                BOOST_TEST((*route == *back));
                const bool memory = a.shared_memory && b.shared_memory && shared;
                const bool rdma = a.rdma && b.rdma;
                BOOST_TEST((*route == (memory ? link_route::shared_memory
                                       : rdma ? link_route::rdma
                                              : link_route::tcp)));
            }
    BOOST_TEST((route_between(everything, memory_or_tcp, false).value() == link_route::tcp));
    BOOST_TEST((route_between(everything, everything, false).value() == link_route::rdma));
    BOOST_TEST((route_between(everything, everything, true).value() == link_route::shared_memory));
}

BOOST_AUTO_TEST_CASE(nodes_without_a_common_way_are_told_of_both) {
    BOOST_TEST(route_between(memory_or_tcp, rdma_alone, true).failure().message() ==
               "it sends over rdma, this node over shared memory or tcp; give --transport auto to "
               "both");
    BOOST_TEST(route_between(tcp_alone, memory_alone, true).failure().message() ==
               "it sends over shared memory, this node over tcp; give --transport auto to both");
    BOOST_TEST(route_between(memory_alone, everything, false).failure().message() ==
               "it shares no memory with this node, being on another machine, in another container "
               "or of another user; give --transport auto to both");
    BOOST_TEST(route_between(tcp_alone, nothing, true).failure().message() ==
               "it sends over nothing, this node over tcp; give --transport auto to both");
}

BOOST_AUTO_TEST_CASE(who_asks_for_rdma_without_it_is_told_what_is_missing) {
    const error none = no_rdma_error({});
    BOOST_TEST((none.code() == errc::usage));
    BOOST_TEST(none.message().find("this machine has no RDMA device") != std::string::npos);
    const error unusable = no_rdma_error({"mlx5_0", "mlx5_1"});
    BOOST_TEST(unusable.message().find("(mlx5_0, mlx5_1); see that a port is up") !=
               std::string::npos);
    for (const error& e : {none, unusable}) {
        BOOST_TEST(e.message().starts_with("--transport rdma: "));
        BOOST_TEST(e.message().ends_with("or give --transport auto, which takes what there is"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
