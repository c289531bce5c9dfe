// Which ways to agree can carry a codec.
#include <boost/test/unit_test.hpp>

#include "actors/training/plan/training_app.hpp"

using namespace troupe;

namespace {

// What is said of replicas that agree so; of an optimizer with this momentum.
std::string said_of(const std::string& sync, const std::string& momentum = "0") {
    const auto parsed =
        parse_training("troupe: 1\ndata: {synthetic: {}}\n"
                       "model: {input: [4], layers: [relu, {linear: {out: 10}}]}\n"
                       "train: {batch: 16, optimizer: {sgd: {learning_rate: 0.1, momentum: " +
                           momentum + "}}}\ntopology: {replicas: 2, sync: {" + sync + "}}\n",
                       "app.yaml", {});
    return parsed.ok() ? "accepted" : parsed.failure().message();
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos && text.find('\n') == std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(codecs_are_for_gradients_on_their_way) {
    BOOST_TEST(said_of("all_reduce: {}, codec: {top_k: {ratio: 0.1}}") == "accepted");
    for (const std::string method : {"local_sgd: {}", "gossip: {}", "hogwild: null"})
        BOOST_TEST(has(said_of(method + ", codec: one_bit"),
                       "topology.sync.codec: compresses gradients, and these replicas send "
                       "weights; leave it out, or use all_reduce or parameter_server"));
    BOOST_TEST(said_of("all_reduce: {algorithm: ring}, codec: bf16") == "accepted");
    BOOST_TEST(has(said_of("all_reduce: {algorithm: ring}, codec: int8"),
                   "topology.sync.all_reduce.algorithm: the codec says who sends what to whom, as "
                   "`troupe plan` shows; leave the algorithm out"));
    BOOST_TEST(said_of("all_reduce: {}, codec: deep_gradient") == "accepted");
    BOOST_TEST(has(said_of("all_reduce: {}, codec: deep_gradient", "0.9"),
                   "topology.sync.codec.deep_gradient: has a momentum of its own"));
    BOOST_TEST(has(said_of("all_reduce: {}, codec: {top_k: {ratio: 0}}"),
                   "topology.sync.codec.top_k.ratio"));
}

BOOST_AUTO_TEST_CASE(numbers_of_sparse_payloads_have_a_form) {
    for (const std::string codec : {"top_k", "deep_gradient"}) {
        for (const std::string form : {"f32", "f16", "int8", "int4"})
            for (const std::string sync :
                 {"all_reduce: {}", "parameter_server: {consistency: asp}"})
                BOOST_TEST(said_of(sync + ", codec: {" + codec + ": {values: " + form + "}}") ==
                           "accepted");
        BOOST_TEST(has(said_of("all_reduce: {}, codec: {" + codec + ": {values: int5}}"),
                       "topology.sync.codec." + codec + ".values"));
        BOOST_TEST(has(said_of("all_reduce: {}, codec: {" + codec + ": {values: int5}}"),
                       "did you mean \"int8\"?"),
                   said_of("all_reduce: {}, codec: {" + codec + ": {values: int5}}"));
    }
    BOOST_TEST(has(said_of("all_reduce: {}, codec: {qsgd: {values: int8}}"),
                   "topology.sync.codec.qsgd.values"));
}

BOOST_AUTO_TEST_CASE(parameter_servers_take_every_codec_by_every_rule) {
    const std::string server = "parameter_server: {consistency: ";
    for (const char* codec :
         {"none", "bf16", "f16", "int8", "one_bit", "{threshold: {threshold: 0.1}}", "top_k",
          "{top_k: {values: int4}}", "{deep_gradient: {values: int8}}", "deep_gradient",
          "tern_grad", "qsgd", "power_sgd"})
        for (const char* keys :
             {"bsp}", "{ssp: {staleness: 2}}}", "asp, push_every: 2}", "asp, node_servers: true}",
              "{value_bounded: {bound: 1}}}", "{softsync: {}}}", "{backup_workers: {}}}",
              "asp, delay_compensation: {adaptive: {}}}"})
            BOOST_TEST(said_of(server + keys + ", codec: " + codec) == "accepted",
                       keys << " " << codec);
    BOOST_TEST(has(said_of(server + "asp}, codec: deep_gradient", "0.9"),
                   "topology.sync.codec.deep_gradient: has a momentum of its own"));
    BOOST_TEST(said_of(server + "{ssp: {staleness: 2}}}, codec: sufficient_factors") == "accepted");
    for (const char* keys : {"push_every: 2", "fetch_every: 2", "node_servers: true"})
        BOOST_TEST(has(said_of(server + "asp, " + keys + "}, codec: sufficient_factors"),
                       "topology.sync.codec.sufficient_factors: goes to a server as the backward "
                       "pass gives it, without "));
    BOOST_TEST(said_of("all_reduce: {}, codec: sufficient_factors") == "accepted");
}
