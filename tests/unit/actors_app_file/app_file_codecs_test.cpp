// Which ways to agree can carry a codec.
#include <boost/test/unit_test.hpp>

#include "actors/plan/app_file.hpp"

using namespace troupe;

namespace {

// What is said of replicas that agree so; of an optimizer with this momentum.
std::string said_of(const std::string& sync, const std::string& momentum = "0") {
    const auto parsed =
        parse_app("troupe: 1\ndata: {synthetic: {}}\n"
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
    for (const std::string method : {"local_sgd: {}", "parameter_server: {consistency: asp}"})
        BOOST_TEST(
            has(said_of(method + ", codec: one_bit"),
                "topology.sync.codec: goes with all_reduce alone; leave it out, or use that"));
    BOOST_TEST(has(said_of("all_reduce: {algorithm: ring}, codec: bf16"),
                   "topology.sync.all_reduce.algorithm: with a codec every replica sends what it "
                   "has to all others; leave the algorithm out"));
    BOOST_TEST(said_of("all_reduce: {}, codec: deep_gradient") == "accepted");
    BOOST_TEST(has(said_of("all_reduce: {}, codec: deep_gradient", "0.9"),
                   "topology.sync.codec.deep_gradient: has a momentum of its own"));
    BOOST_TEST(has(said_of("all_reduce: {}, codec: {top_k: {ratio: 0}}"),
                   "topology.sync.codec.top_k.ratio"));
}
