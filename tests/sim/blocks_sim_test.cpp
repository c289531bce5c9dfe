// Gradients summed by blocks, with the actors that ship.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "actors/training/plan/plan.hpp"
#include "schemas/collective.capnp.h"
#include "tests/sim/replicas_sim.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint32_t replicas = 5;
const std::vector<std::string> codecs{"int8", "qsgd", "tern_grad", "one_bit",
                                      "{threshold: {threshold: 0.01}}"};

// With so many weights that blocks are faster.
std::string wide_app(const std::string& sync, std::uint32_t samples) {
    std::string text = text_of({.replicas = replicas,
                                .sync = sync,
                                .samples = samples,
                                .optimizer = "sgd: {learning_rate: 0.05}"});
    replace(text, "linear: {out: 12}", "linear: {out: 2500}");
    return text;
}

struct wide_run {
    saved_tensors weights;
    planned_reduction planned;
    std::uint64_t bytes = 0; // of all chunks
};

wide_run train_wide(const std::string& sync, std::uint32_t samples, const sim_faults& faults = calm,
                    std::uint64_t seed = 1) {
    const temporary_folder folder;
    pipeline_sim run{
        {.seed = seed, .faults = faults, .nodes = replicas, .app = wide_app(sync, samples)}};
    run.train(folder.path());
    good_report(run);
    const plan p = run.planned();
    wide_run done{saved_in(folder.path()), reduction_of(p, p.stages[0])};
    for (std::size_t n = 0; n < replicas; ++n)
        for (const trace_event& e : run.node(n).trace().read(0, 1u << 16).events)
            if (e.kind == trace_kind::message && e.type == type_id_of<proto::ReduceChunk>())
                done.bytes += e.bytes;
    return done;
}

} // namespace

BOOST_AUTO_TEST_SUITE(blocks_in_the_simulator)

BOOST_DATA_TEST_CASE(sums_by_blocks_train_and_no_storm_changes_a_bit, bdata::xrange(codecs.size()),
                     c) {
    const std::string sync = "{all_reduce: {}, codec: " + codecs[c] + "}";
    const std::uint32_t samples = 70; // replicas have none of the last round
    const auto first = train_wide(sync, samples);
    BOOST_TEST(first.planned.by == "blocks summed and encoded again by their owners");
    BOOST_TEST((train_wide(sync, samples, storm, 7 + c).weights == first.weights));
    const auto plain = train_wide("all_reduce", samples);
    BOOST_TEST((plain.weights != first.weights));
    if (codecs[c].find("threshold") ==
        std::string::npos) // which is as far behind where it is gathered
        BOOST_TEST(farthest(plain.weights, first.weights) < 0.3);
}

// Two epochs of two updates. What the busiest rank sends is a little more than what others do.
BOOST_DATA_TEST_CASE(what_is_sent_is_what_is_planned, bdata::xrange(codecs.size()), c) {
    const auto run = train_wide("{all_reduce: {}, codec: " + codecs[c] + "}", 2 * 8 * replicas);
    const double most = 4.0 * replicas * static_cast<double>(run.planned.bytes);
    BOOST_TEST(static_cast<double>(run.bytes) < 1.1 * most);
    if (codecs[c].find("threshold") == std::string::npos)
        BOOST_TEST(static_cast<double>(run.bytes) > 0.9 * most);
}

BOOST_AUTO_TEST_SUITE_END()
