#include "transport/node/connection_table.hpp"

#include <sys/socket.h>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

using key_role = std::optional<peer_role>;

// The side that has come in, once it has seen the other's opening.
std::unique_ptr<control_connection> opened(key_role by_key_for) {
    int ends[2];
    BOOST_TEST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) ==
                       0);
    const std::vector<cluster_key> keys{{"a key of the tests", by_key_for}};
    control_connection theirs{file_descriptor{ends[0]}, handshake_side::connector, keys};
    auto ours = std::make_unique<control_connection>(file_descriptor{ends[1]},
                                                     handshake_side::acceptor, keys);
    std::vector<control_message> arrived;
    BOOST_TEST_REQUIRE(theirs.advance(arrived).ok());
    BOOST_TEST_REQUIRE(ours->advance(arrived).ok());
    return ours;
}

// Connections that have come in and proven a key; each has been silent for less time than those before it.
class waiting_room {
  public:
    void add(const std::string& network, key_role by_key_for) {
        peer_connection c;
        c.id = ++last_;
        c.wire = opened(by_key_for);
        c.side = handshake_side::acceptor;
        c.state = connection_phase::hello;
        c.network = network;
        c.heard_at = time_point{} + last_ * 1s;
        table_.add(std::move(c));
    }

    // Which one goes for a newcomer; 0: none.
    std::uint64_t beyond_share(std::size_t share, const std::string& of_newcomer) {
        const peer_connection* found = table_.beyond_share(share, of_newcomer);
        return found != nullptr ? found->id : 0;
    }

  private:
    connection_table table_;
    std::uint64_t last_ = 0;
};

} // namespace

BOOST_AUTO_TEST_SUITE(connection_tables)

BOOST_AUTO_TEST_CASE(one_of_a_network_that_has_more_than_its_share_goes_for_another_network) {
    waiting_room room;
    for (const char* network : {"x", "crowd", "y", "crowd", "crowd"})
        room.add(network, {});
    BOOST_TEST(room.beyond_share(2, "elsewhere") == 2); // the longest silent of them
    BOOST_TEST(room.beyond_share(3, "elsewhere") == 0);
    BOOST_TEST(room.beyond_share(2, "crowd") == 0);
}

BOOST_AUTO_TEST_CASE(one_of_those_by_a_narrow_key_goes_wherever_they_come_from) {
    for (const peer_role narrow : {peer_role::client, peer_role::observer}) {
        waiting_room room;
        room.add("a", peer_role::member);
        for (const char* network : {"b", "c", "d"})
            room.add(network, narrow);
        BOOST_TEST(room.beyond_share(2, "elsewhere") == 2);
        BOOST_TEST(room.beyond_share(2, "b") == 2); // a newcomer has yet to show its key
        BOOST_TEST(room.beyond_share(3, "elsewhere") == 0);
    }
}

BOOST_AUTO_TEST_CASE(runs_and_observers_have_a_share_each) {
    waiting_room room;
    for (const char* network : {"a", "b"})
        room.add(network, peer_role::client);
    for (const char* network : {"c", "d"})
        room.add(network, peer_role::observer);
    BOOST_TEST(room.beyond_share(2, "elsewhere") == 0);
}

BOOST_AUTO_TEST_CASE(those_by_a_key_for_nodes_or_for_everybody_have_all_the_room) {
    for (const key_role wide : {key_role{peer_role::member}, key_role{}}) {
        waiting_room room;
        for (const char* network : {"a", "b", "c", "d"})
            room.add(network, wide);
        BOOST_TEST(room.beyond_share(1, "elsewhere") == 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
