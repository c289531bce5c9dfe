// What the role of a peer takes.
#include <boost/test/unit_test.hpp>

#include "actors/training/roles/peer_role.hpp"
#include "schemas/peers.capnp.h"
#include "tests/support/role_stage.hpp"

using namespace troupe;
using namespace troupe::test;
using options = proto::PeerOptions::Builder;

BOOST_AUTO_TEST_SUITE(peer_roles)

BOOST_AUTO_TEST_CASE(every_way_to_exchange_weights_has_one_but_by_reducers) {
    for (const char* sync : {"elastic_averaging", "gossip", "malt", "admm", "hogwild"}) {
        role_stage on{"replicas: 3, sync: " + std::string{sync} + ", "};
        BOOST_TEST(on.spawned<proto::PeerOptions>(peer_actor_role(), [](options o) {
            o.getPart().setReplica(1);
        }) == "peer-0.1");
    }
    for (const char* sync : {"local_sgd", "all_reduce"}) {
        role_stage on{"replicas: 3, sync: " + std::string{sync} + ", "};
        BOOST_TEST(on.refusal<proto::PeerOptions>(peer_actor_role(), [](options) {}) ==
                   "no peer stands beside stage 0, as its replicas agree");
    }
}

BOOST_AUTO_TEST_SUITE_END()
