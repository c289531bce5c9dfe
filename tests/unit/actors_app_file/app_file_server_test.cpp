// What an app file may say of a parameter server, and what does not go together.
#include <boost/test/unit_test.hpp>

#include "actors/training/plan/training_app.hpp"

using namespace troupe;

namespace {

// Of an app with so many replicas; "accepted", or what is wrong behind the key of the server.
std::string server(const std::string& keys, unsigned replicas = 4,
                   const std::string& pipeline = "single: null") {
    const auto parsed = parse_training(
        "troupe: 1\ndata: {synthetic: {}}\nmodel: {input: [4], layers: [relu, {linear: {out: "
        "10}}]}\n"
        "train: {batch: 16, optimizer: {sgd: {learning_rate: 0.1}}}\ntopology: {replicas: " +
            std::to_string(replicas) + ", " + pipeline + ", sync: {parameter_server: {" + keys +
            "}}}\n",
        "app.yaml", {});
    if (parsed.ok())
        return "accepted";
    const std::string& message = parsed.failure().message();
    const std::string key = "topology.sync.parameter_server.";
    const auto at = message.find(key);
    return at == std::string::npos ? message : message.substr(at + key.size());
}

bool refuses(const std::string& keys, const std::string& sentence, unsigned replicas = 4,
             const std::string& pipeline = "single: null") {
    const std::string message = server(keys, replicas, pipeline);
    BOOST_TEST(message.find(sentence) == 0u, keys << ": " << message);
    return message.find('\n') == std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(parameter_servers_in_app_files)

BOOST_AUTO_TEST_CASE(every_rule_is_accepted) {
    for (const char* keys :
         {"consistency: bsp", "consistency: {ssp: {staleness: 3}}", "consistency: asp",
          "consistency: {value_bounded: {bound: 0.1}}", "consistency: {softsync: {splits: 4}}",
          "consistency: {backup_workers: {backups: 3}}",
          "consistency: asp, push_every: 4, fetch_every: 8",
          "consistency: asp, delay_compensation: {constant: {factor: 0.1}}",
          "consistency: {softsync: {}}, delay_compensation: {adaptive: {}}",
          "consistency: bsp, aggregation: median",
          "consistency: bsp, aggregation: {trimmed_mean: {trim: 1}}",
          "consistency: {backup_workers: {backups: 1}}, aggregation: {trimmed_mean: {trim: 1}}"})
        BOOST_TEST(server(keys) == "accepted", keys << ": " << server(keys));
    BOOST_TEST(server("consistency: bsp, aggregation: {krum: {liars: 1}}", 5) == "accepted");
    BOOST_TEST(server("consistency: asp, node_servers: true") == "accepted");
}

BOOST_AUTO_TEST_CASE(rules_that_leave_nothing_are_refused) {
    BOOST_TEST(refuses("consistency: {softsync: {splits: 5}}", "consistency.softsync.splits: an "));
    BOOST_TEST(refuses("consistency: {backup_workers: {backups: 4}}",
                       "consistency.backup_workers.backups: leaves no gradient"));
    BOOST_TEST(refuses("consistency: {backup_workers: {}}",
                       "consistency.backup_workers: does not go with a pipeline", 2,
                       "pipeline: {schedule: gpipe}"));
    BOOST_TEST(refuses("consistency: {value_bounded: {bound: 1}}",
                       "consistency.value_bounded: does not go with a pipeline", 2,
                       "pipeline: {schedule: gpipe}"));
    BOOST_TEST(refuses("consistency: {value_bounded: {}}", "consistency.value_bounded"));
}

BOOST_AUTO_TEST_CASE(keys_that_do_not_go_together_are_refused) {
    BOOST_TEST(refuses("consistency: bsp, push_every: 2", "push_every: is Downpour's"));
    BOOST_TEST(refuses("consistency: asp, push_every: 2, fetch_every: 129",
                       "fetch_every: a replica would push 64 times before it waits for the server, "
                       "which keeps them all; give at most 128"));
    BOOST_TEST(refuses("consistency: {ssp: {staleness: 1}}, fetch_every: 2",
                       "fetch_every: is Downpour's"));
    for (const char* rule : {"bsp", "{ssp: {staleness: 0}}", "{backup_workers: {}}"})
        BOOST_TEST(refuses(std::string{"delay_compensation: {constant: {}}, consistency: "} + rule,
                           "delay_compensation: no gradient comes late"));
    BOOST_TEST(refuses("consistency: asp, push_every: 2, delay_compensation: {constant: {}}",
                       "delay_compensation: is of single gradients"));
    BOOST_TEST(refuses("consistency: asp, aggregation: median", "aggregation: takes several"));
    for (const char* keys : {"consistency: {softsync: {}}", "consistency: asp, push_every: 2",
                             "consistency: asp, delay_compensation: {constant: {}}",
                             "consistency: bsp, aggregation: median"})
        BOOST_TEST(refuses(std::string{keys} + ", node_servers: true",
                           "node_servers: sums gradients of a node's replicas"));
}

BOOST_AUTO_TEST_CASE(too_few_gradients_to_be_robust_are_refused) {
    BOOST_TEST(refuses("consistency: bsp, aggregation: median", "aggregation.median: needs 3", 2));
    BOOST_TEST(refuses("consistency: bsp, aggregation: {trimmed_mean: {trim: 2}}",
                       "aggregation.trimmed_mean.trim: leaves nothing"));
    BOOST_TEST(
        refuses("consistency: {backup_workers: {backups: 2}}, aggregation: {trimmed_mean: {}}",
                "aggregation.trimmed_mean.trim: leaves nothing"));
    BOOST_TEST(refuses("consistency: bsp, aggregation: {krum: {}}",
                       "aggregation.krum.liars: needs 5 gradients at least; an update has 4"));
}

BOOST_AUTO_TEST_SUITE_END()
