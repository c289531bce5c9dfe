// How runs end: by the reason for which a node fails, whoever tells of it first, and alike however a node is lost.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/ops/ops.hpp"
#include "tests/sim/loss_sim.hpp"
#include "tests/sim/server_sim.hpp"
#include "tests/support/seeds.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

// Operations that fail from some moment on.
class failing_operations final : public operations {
  public:
    explicit failing_operations(operations& to) : to_{to} {}

    void fail(error why) { why_ = std::move(why); }

    std::string_view name() const noexcept override { return "failing"; }
    std::size_t channel_block(std::size_t channels) const noexcept override {
        return to_.channel_block(channels);
    }

  private:
#define TROUPE_FAIL(type)                                                                          \
    result<void> compute(const type& op) override {                                                \
        return why_ ? result<void>{*why_} : to_.run(op);                                           \
    }
    TROUPE_OPERATIONS(TROUPE_FAIL)
#undef TROUPE_FAIL

    operations& to_;
    std::optional<error> why_;
};

struct kind_of_run {
    std::string name;
    replicas_app app;
    std::size_t nodes = 2;
    bool bears_loss = false; // of the last node
};

std::vector<kind_of_run> kinds() {
    std::vector<kind_of_run> all;
    for (const char* schedule : {"gpipe", "pipedream"})
        for (const auto& layers : {std::vector<std::size_t>{3, 3}, {2, 2, 2}})
            all.push_back(
                {schedule, {.schedule = schedule, .layers = layers, .replicas = 1}, layers.size()});
    for (const std::string& sync :
         {std::string{"all_reduce"}, std::string{"{local_sgd: {period: 2}}"},
          std::string{"{all_reduce: {}, codec: {top_k: {ratio: 0.2}}}"},
          std::string{"{elastic_averaging: {period: 2, synchronous: true}}"}, server("bsp", 1),
          server("bsp", 2), server("asp", 3)})
        all.push_back({sync, {.replicas = 3, .sync = sync}, 3});
    for (const std::string& sync :
         {server("asp", 1), server("{ssp: {staleness: 1}}", 1), server("{softsync: {}}", 1),
          std::string{"{gossip: {period: 1}}"}, std::string{"{malt: {graph: all}}"},
          std::string{"{elastic_averaging: {period: 2}}"},
          std::string{"{admm: {penalty: 1, period: 4, quorum: 2, delay: 3}}"}})
        all.push_back({sync, {.replicas = 3, .sync = sync}, 3, true});
    all.push_back({"gossip of pipelines",
                   {.layers = {2, 4}, .replicas = 2, .sync = "{gossip: {period: 1}}"},
                   4,
                   true});
    return all;
}

std::string text_of(const kind_of_run& kind) {
    replicas_app app = kind.app;
    app.samples = 800;
    app.optimizer = "sgd: {learning_rate: 0.02}";
    return test::text_of(app);
}

void run_until_some_are_trained(pipeline_sim& run) {
    run.start({});
    run.sim().run_until([&] { return run.observer().progress.samples_done >= 100; },
                        std::chrono::minutes{5});
}

void slow_down(pipeline_sim& run, const node_runtime& from, const node_runtime& to,
               duration delay) {
    run.sim().network().set_faults(from.node(), to.node(),
                                   {.delay_min = delay, .delay_max = delay});
}

// As threads may do it where a node stops: a while before their stage.
void end_companions(pipeline_sim& run, std::size_t node) {
    node_runtime& stopping = run.node(node);
    for (const char* role : {"reducer-0.", "peer-0.", "cache-0."})
        if (const auto found = stopping.address_of(role + std::to_string(node)))
            stopping.end(*found,
                         {errc::cancelled, "node " + stopping.options().name + " was stopped"});
    run.sim().run_for(std::chrono::milliseconds{1});
}

// The run ends as its node fails, although the news of the node's neighbours is much faster than its own.
void check_failure(const kind_of_run& kind, std::size_t node, errc code, std::uint64_t seed) {
    memory_pool pool{1u << 28};
    const auto sound = make_cpu_operations(pool);
    failing_operations failing{*sound};
    pipeline_sim run{{.seed = seed,
                      .faults = calm,
                      .nodes = kind.nodes,
                      .app = text_of(kind),
                      .operations_of = [&](std::size_t device) -> operations& {
                          return device == node ? static_cast<operations&>(failing) : *sound;
                      }}};
    run_until_some_are_trained(run);
    slow_down(run, run.node(node), run.run_node(), std::chrono::milliseconds{200});
    failing.fail({code, "as the test wants"});
    run_until_over(run);
    const error& why = failure_of(run);
    const std::string sentence = kind.name + ": " + why.message();
    BOOST_TEST((why.code() == code), sentence);
    BOOST_TEST(why.message().find("on node-" + std::to_string(node) + "/sim:0: ") !=
                   std::string::npos,
               sentence);
    BOOST_TEST(why.message().find(": as the test wants") != std::string::npos, sentence);
    BOOST_TEST(run.observer().notes.empty(), sentence);
}

} // namespace

BOOST_AUTO_TEST_SUITE(ends_of_runs)

BOOST_AUTO_TEST_CASE(a_node_that_fails_ends_the_run_by_its_reason_whoever_tells_first, *seeded) {
    const errc codes[] = {errc::numeric, errc::exhausted, errc::data, errc::protocol, errc::io};
    for (const std::uint64_t seed : seed_range{5})
        for (const kind_of_run& kind : kinds())
            for (std::size_t node = 0; node < kind.nodes; ++node)
                check_failure(kind, node, codes[(seed + node) % std::size(codes)], seed);
}

// The stages learn of each other when the last one has failed already.
BOOST_AUTO_TEST_CASE(a_node_that_fails_before_others_watch_it_is_not_lost, *seeded) {
    for (const std::uint64_t seed : seed_range{5})
        for (const kind_of_run& kind : kinds()) {
            memory_pool pool{1u << 28};
            const auto sound = make_cpu_operations(pool);
            failing_operations failing{*sound};
            failing.fail({errc::exhausted, "as the test wants"});
            pipeline_sim run{{.seed = seed,
                              .faults = calm,
                              .nodes = kind.nodes,
                              .app = text_of(kind),
                              .operations_of = [&](std::size_t device) -> operations& {
                                  return device + 1 == kind.nodes
                                             ? static_cast<operations&>(failing)
                                             : *sound;
                              }}};
            node_runtime& last = run.node(kind.nodes - 1);
            for (node_runtime* const other : run.all_nodes())
                if (other == &run.run_node())
                    slow_down(run, last, *other, std::chrono::milliseconds{300});
                else if (other != &last)
                    slow_down(run, *other, last, std::chrono::milliseconds{100});
            run.start({});
            run_until_over(run);
            const error& why = failure_of(run);
            BOOST_TEST((why.code() == errc::exhausted), kind.name << ": " << why.message());
        }
}

// A node that stops in order says so itself; one that dies cannot.
BOOST_AUTO_TEST_CASE(a_node_that_stops_in_order_is_lost_like_one_that_dies, *seeded) {
    for (const std::uint64_t seed : seed_range{4})
        for (const kind_of_run& kind : kinds())
            for (const bool in_order : {false, true}) {
                pipeline_sim run{{.seed = seed,
                                  .faults = seed % 2 ? calm : storm,
                                  .nodes = kind.nodes,
                                  .app = text_of(kind)}};
                run_until_some_are_trained(run);
                const std::size_t last = kind.nodes - 1;
                if (in_order) {
                    end_companions(run, last);
                    run.node(last).stop();
                } else {
                    kill(run, last);
                }
                run_until_over(run);
                const auto& failure = run.observer().report->failure;
                const std::string said =
                    kind.bears_loss
                        ? (run.observer().notes.empty() ? std::string{} : run.observer().notes[0])
                    : failure ? failure->message()
                              : std::string{};
                const std::string what = kind.name + ": " + (failure ? failure->message() : said);
                BOOST_TEST(failure.has_value() != kind.bears_loss, what);
                BOOST_TEST((!failure || failure->code() == errc::lost), what);
                BOOST_TEST(run.observer().notes.size() == (kind.bears_loss ? 1u : 0u), what);
                const std::string node = "node node-" + std::to_string(last);
                BOOST_TEST(said.find(node + (in_order ? " was stopped; it carried stage "
                                                      : " is lost: ")) == 0u,
                           said);
                BOOST_TEST(said.find("on node-" + std::to_string(last) + "/sim:0") !=
                               std::string::npos,
                           said);
            }
}

BOOST_AUTO_TEST_SUITE_END()
