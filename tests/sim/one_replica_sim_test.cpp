// One replica, however replicas would agree: what one device alone makes, bit by bit.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/sim/server_sim.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

const std::vector<std::string> every_sync = [] {
    std::vector<std::string> syncs{"all_reduce",
                                   "{local_sgd: {period: 2}}",
                                   "{elastic_averaging: {period: 1}}",
                                   "{elastic_averaging: {period: 2, synchronous: true}}",
                                   "{gossip: {period: 1}}",
                                   "{malt: {graph: all}}",
                                   "{malt: {graph: halton, period: 2}}",
                                   "{malt: {graph: server, aggregation: median}}",
                                   "{admm: {penalty: 1, period: 2}}",
                                   "hogwild",
                                   server_with("asp", "push_every: 2, fetch_every: 3"),
                                   server_with("asp", "delay_compensation: {constant: {}}"),
                                   server_with("asp", "delay_compensation: {adaptive: {}}"),
                                   server_with("asp", "node_servers: true"),
                                   server_with("bsp", "aggregation: median"),
                                   server_with("bsp", "aggregation: {trimmed_mean: {trim: 1}}"),
                                   server_with("bsp", "aggregation: {krum: {liars: 1}}")};
    for (const std::string& algorithm : algorithms())
        syncs.push_back(all_reduce_by(algorithm));
    for (const char* rule : {"bsp", "{ssp: {staleness: 2}}", "asp", "{value_bounded: {bound: 0.1}}",
                             "{softsync: {splits: 1}}", "{backup_workers: {backups: 1}}"})
        syncs.push_back(server(rule, 1));
    for (const char* codec : {"bf16", "f16", "int8", "one_bit", "{threshold: {threshold: 0.01}}",
                              "{top_k: {ratio: 0.1}}", "{deep_gradient: {ratio: 0.1}}", "tern_grad",
                              "qsgd", "power_sgd", "sufficient_factors"})
        for (const char* way : {"{all_reduce: {}", "{parameter_server: {consistency: asp}"})
            syncs.push_back(std::string{way} + ", codec: " + codec + "}");
    return syncs;
}();

} // namespace

BOOST_AUTO_TEST_SUITE(one_replica)

// 70 samples leave a last short minibatch. Without momentum, in whose place deep_gradient has one of its own.
BOOST_DATA_TEST_CASE(one_replica_is_plain_sgd_bit_by_bit_whatever_the_sync, bdata::make(every_sync),
                     sync) {
    const replicas_app app{
        .replicas = 1, .samples = 70, .optimizer = "sgd: {learning_rate: 0.05, momentum: 0}"};
    std::string text = text_of(app);
    replace(text, "topology: {", "topology: {replicas: 1, sync: " + sync + ", ");
    const temporary_folder folder;
    pipeline_sim run{{.faults = storm, .nodes = 1, .app = text}};
    run.train(folder.path());
    const run_report& report = good_report(run);
    BOOST_TEST(report.stages[0].weight_version == 18u);
    check_saved(run, folder.path(), {.layers = {6}});
}

BOOST_AUTO_TEST_SUITE_END()
