#include "actors/runtime/link_messages.hpp"

#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "schemas/base/limits.hpp"

using namespace troupe;

namespace {

peer_info peer(std::uint64_t id, peer_role role, const std::string& over) {
    peer_info p{node_id{id}, "a", "a:1", role};
    p.over = over;
    return p;
}

} // namespace

BOOST_AUTO_TEST_SUITE(link_messages)

BOOST_AUTO_TEST_CASE(links_are_told_of_peers_that_take_part_and_read_as_written) {
    const auto told = told_links(
        {peer(1, peer_role::member, "tcp"), peer(2, peer_role::observer, "tcp"),
         peer(3, peer_role::client, "rdma (rc_mlx5, mlx5_0:1)"), peer(4, peer_role::member, "")});
    BOOST_TEST_REQUIRE(told.size() == 2u);
    capnp::MallocMessageBuilder message;
    auto list = message.initRoot<proto::MemberList>().initLinks(2);
    write_links(list, told);
    const auto read = read_links(list.asReader());
    BOOST_TEST_REQUIRE(read.ok());
    BOOST_TEST((*read == std::map<node_id, std::string>{{node_id{1}, "tcp"},
                                                        {node_id{3}, "rdma (rc_mlx5, mlx5_0:1)"}}));
}

BOOST_AUTO_TEST_CASE(links_of_many_devices_are_cut_so_that_they_are_read) {
    capnp::MallocMessageBuilder message;
    auto list = message.initRoot<proto::MemberList>().initLinks(1);
    write_links(list, {peer(1, peer_role::member, "rdma (" + std::string(500, 'x') + ")")});
    const auto read = read_links(list.asReader());
    BOOST_TEST_REQUIRE(read.ok());
    BOOST_TEST(read->at(node_id{1}).ends_with("xxx..."));
}

BOOST_AUTO_TEST_CASE(links_that_make_no_sense_are_not_read) {
    for (const std::string& over : {std::string{}, std::string{"red\x1b[31m"},
                                    std::string(limits::name_bytes_max + 1, 'x')}) {
        capnp::MallocMessageBuilder message;
        auto list = message.initRoot<proto::MemberList>().initLinks(1);
        list[0].setOver(over);
        BOOST_TEST((read_links(list.asReader()).failure().code() == errc::protocol));
    }
    capnp::MallocMessageBuilder message;
    auto list = message.initRoot<proto::MemberList>().initLinks(limits::nodes_max + 1);
    for (auto link : list)
        link.setOver("tcp");
    BOOST_TEST((read_links(list.asReader()).failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_SUITE_END()
