// What the roles of a parameter server take.
#include <boost/test/unit_test.hpp>

#include "actors/training/roles/server_roles.hpp"
#include "schemas/params.capnp.h"
#include "tests/support/role_stage.hpp"

using namespace troupe;
using namespace troupe::test;
using shard = proto::ShardOptions::Builder;
using cache = proto::CacheOptions::Builder;

namespace {

const std::string two_shards =
    "replicas: 3, sync: {parameter_server: {consistency: bsp, shards: 2}}, ";

} // namespace

BOOST_AUTO_TEST_SUITE(server_roles)

BOOST_AUTO_TEST_CASE(shards_stand_beside_the_first_replicas_and_caches_beside_all) {
    role_stage on{two_shards};
    for (const std::uint32_t replica : {0u, 1u, 2u}) {
        const std::string number = "0." + std::to_string(replica);
        BOOST_TEST(on.spawned<proto::ShardOptions>(shard_role(),
                                                   [&](shard o) {
                                                       o.getPart().setReplica(replica);
                                                       o.setWorkers(3);
                                                   }) ==
                   (replica < 2 ? "shard-" + number
                                : "no shard stands beside stage 0, as its replicas agree"));
        BOOST_TEST(on.spawned<proto::CacheOptions>(cache_role(), [&](cache o) {
            o.getPart().setReplica(replica);
            o.setWorkers(3);
        }) == "cache-" + number);
    }
}

BOOST_AUTO_TEST_CASE(a_node_server_is_one_for_several) {
    role_stage on{
        "replicas: 4, sync: {parameter_server: {consistency: bsp, node_servers: true}}, "};
    BOOST_TEST(on.spawned<proto::CacheOptions>(cache_role(), [](cache o) {
        o.getPart().setStage(2);
        o.setWorkers(2);
        o.setMembers(2);
    }) == "node-server-2");
}

BOOST_AUTO_TEST_CASE(there_are_not_more_workers_than_replicas) {
    role_stage on{two_shards};
    for (const std::uint32_t workers : {0u, 4u, 65u, ~0u})
        BOOST_TEST(on.refusal<proto::ShardOptions>(shard_role(),
                                                   [&](shard o) { o.setWorkers(workers); }) ==
                   "a parameter server of 3 replicas cannot have " + std::to_string(workers) +
                       " workers");
    for (const auto& [workers, members] :
         {std::pair{0u, 1u}, {4u, 1u}, {3u, 0u}, {3u, 4u}, {3u, 2u}}) // and no node's server
        BOOST_TEST(on.refusal<proto::CacheOptions>(cache_role(),
                                                   [&](cache o) {
                                                       o.setWorkers(workers);
                                                       o.setMembers(members);
                                                   }) ==
                   "a parameter server of 3 replicas cannot have " + std::to_string(workers) +
                       " workers, of " + std::to_string(members) + " replicas this one");
}

BOOST_AUTO_TEST_CASE(there_are_none_without_a_server) {
    role_stage on{"replicas: 2, sync: all_reduce, "};
    BOOST_TEST(on.refusal<proto::ShardOptions>(shard_role(), [](shard) {}) ==
               "no shard stands beside stage 0, as its replicas agree");
    BOOST_TEST(on.refusal<proto::CacheOptions>(cache_role(), [](cache) {}) ==
               "no cache stands beside stage 0, as its replicas agree");
}

BOOST_AUTO_TEST_SUITE_END()
