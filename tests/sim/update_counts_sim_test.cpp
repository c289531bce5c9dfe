// That an optimizer's step is the number of the updates that it has made of a parameter, not of the minibatches that the
// schedule has seen: where the two differ, and where a run goes on.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>
#include <numeric>
#include <set>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/training/plan/training_app.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/graph/stage_program.hpp"
#include "tests/sim/loss_sim.hpp"
#include "tests/sim/sequential_updates.hpp"
#include "tests/sim/server_sim.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

constexpr double tolerance = 2e-6; // a wrong count is off by a part of the learning rate
const char* const optimizers[] = {"adam: {learning_rate: 0.01}",
                                  "adamw: {learning_rate: 0.01, weight_decay: 0.1}",
                                  "lamb: {learning_rate: 0.01, weight_decay: 0.1}"};
const char* const dealt[] = {"{elastic_averaging: {period: 2}}",
                             "{gossip: {period: 1}}",
                             "{malt: {graph: all}}",
                             "{malt: {graph: halton, period: 2}}",
                             "{admm: {penalty: 1, period: 4, quorum: 2, delay: 3}}",
                             "hogwild"};

struct counted_options {
    std::string app;
    std::size_t nodes = 3;
    std::size_t devices_of_node = 1;
    std::size_t spare_nodes = 0;
    std::uint64_t seed = 1;
    sequential_parameters first = {}; // what a sequential program has that is resumed, too
};

// A run whose every update is made a second time.
class counted_run {
  public:
    // `resume`: from the latest checkpoint of the folder.
    counted_run(const counted_options& options, const std::filesystem::path& folder,
                bool resume = false)
        : memory_{options}, sim_{{.seed = options.seed,
                                  .faults = storm,
                                  .nodes = options.nodes,
                                  .devices_of_node = options.devices_of_node,
                                  .spare_nodes = options.spare_nodes,
                                  .app = options.app,
                                  .operations_of = [this](std::size_t d) -> operations& {
                                      return memory_.devices[d];
                                  }}} {
        if (options.spare_nodes > 0)
            spawn_announcer(sim_);
        sim_.start(folder, resume);
    }

    pipeline_sim& sim() noexcept { return sim_; }
    const sequential_updates& device(std::size_t d) const { return memory_.devices[d]; }

    void stop_in_second_epoch() {
        const training_progress& progress = sim_.observer().progress;
        sim_.sim().run_until([&] { return progress.epoch == 1 && progress.samples_done >= 24; },
                             std::chrono::minutes{5});
        sim_.run_node().send(sim_.trainer_address(), frame_builder<proto::StopRun>{});
        run_until_over(sim_);
        BOOST_TEST((failure_of(sim_).code() == errc::cancelled));
        check_updates();
    }
    void finish() {
        run_until_over(sim_);
        good_report(sim_);
        check_updates();
    }
    void check_updates() const {
        for (std::size_t d = 0; d < memory_.devices.size(); ++d)
            BOOST_TEST(memory_.devices[d].farthest() < tolerance, "device " << d);
    }
    std::uint64_t updates() const { // of all parameters
        std::uint64_t all = 0;
        for (const sequential_updates& device : memory_.devices)
            all += device.updates();
        return all;
    }
    // Of every parameter what the first device has that has updated it, or what there was before.
    sequential_parameters parameters() const {
        sequential_parameters all;
        for (const sequential_updates& device : memory_.devices)
            for (const auto& [shape, parameter] : device.parameters())
                if (const auto before = memory_.first.find(shape);
                    before == memory_.first.end() || before->second.updates < parameter.updates)
                    all.insert({shape, parameter});
        all.insert(memory_.first.begin(), memory_.first.end());
        return all;
    }

  private:
    struct memory {
        explicit memory(const counted_options& options) : first{options.first} {
            for (std::size_t d = 0;
                 d < (options.nodes + options.spare_nodes) * options.devices_of_node; ++d)
                devices.emplace_back(*ops, options.first);
        }

        const sequential_parameters first;
        memory_pool pool{1ull << 28};
        const std::unique_ptr<operations> ops = make_cpu_operations(pool);
        std::deque<sequential_updates> devices;
    };

    memory memory_;
    pipeline_sim sim_;
};

// The counts of the latest checkpoint are those of what a sequential program has made.
void check_saved_counts(const std::filesystem::path& folder, const sequential_parameters& expected,
                        const training_app& app) {
    const auto infos = list_checkpoints(folder).value();
    BOOST_REQUIRE(!infos.empty());
    const loaded_checkpoint saved = load_checkpoint(infos.back()).value();
    memory_pool memory{1ull << 24};
    const auto program = stage_program::whole(app.app().getModel()).value();
    const auto restored = saved.restore(program.layout({}), memory).value();
    for (std::size_t p = 0; p < program.parameters().size(); ++p)
        BOOST_TEST(restored->updates[p] ==
                       expected.at(to_string(program.parameters()[p].shape)).updates,
                   program.parameters()[p].name);
}

// Replicas of the whole: hogwild's on one node.
counted_options of_replicas(const std::string& sync, const std::string& optimizer,
                            std::uint64_t seed = 1) {
    const bool is_one_node = sync == "hogwild";
    return {.app = text_of({.replicas = 3, .sync = sync, .samples = 130, .optimizer = optimizer}),
            .nodes = is_one_node ? 1u : 3u,
            .devices_of_node = is_one_node ? 3u : 1u,
            .seed = seed};
}

// Of stages with so many replicas each.
counted_options of_stages(const std::vector<std::size_t>& layers,
                          const std::vector<std::uint32_t>& replicas, const std::string& optimizer,
                          const sequential_parameters& first = {}) {
    std::string text = pipeline_app("pipedream", layers, 3, optimizer);
    std::size_t at = 0;
    for (const std::uint32_t r : replicas) {
        at = text.find("}", text.find("{layers: ", at));
        text.insert(at, ", replicas: " + std::to_string(r));
    }
    return {.app = text + "checkpoint: {directory: unused}\n",
            .nodes = std::accumulate(replicas.begin(), replicas.end(), std::size_t{0}),
            .first = first};
}

void check_whole_and_resumed(const counted_options& options) {
    {
        const temporary_folder folder;
        counted_run whole{options, folder.path()};
        whole.finish();
        check_saved_counts(folder.path(), whole.parameters(), whole.sim().app());
    }
    const temporary_folder folder;
    counted_options rest = options;
    {
        counted_run begun{options, folder.path()};
        begun.stop_in_second_epoch();
        rest.first = begun.parameters();
        check_saved_counts(folder.path(), rest.first, begun.sim().app());
    }
    counted_run resumed{rest, folder.path(), true};
    resumed.finish();
    BOOST_TEST(resumed.updates() > 0u);
    check_saved_counts(folder.path(), resumed.parameters(), resumed.sim().app());
}

} // namespace

BOOST_AUTO_TEST_SUITE(counts_of_updates)

BOOST_DATA_TEST_CASE(every_dealt_rule_steps_as_a_sequential_program_does,
                     bdata::make(dealt) * bdata::make(optimizers), sync, optimizer) {
    check_whole_and_resumed(of_replicas(sync, optimizer));
}

// 130 samples leave the last replica without a minibatch in the last round of an epoch.
BOOST_DATA_TEST_CASE(who_has_no_minibatch_in_a_round_counts_no_update,
                     bdata::make({"{local_sgd: {period: 2}}",
                                  "{elastic_averaging: {period: 2, synchronous: true}}",
                                  "{admm: {penalty: 1, period: 2, quorum: 3}}"}),
                     sync) {
    check_whole_and_resumed(of_replicas(sync, optimizers[0]));
}

BOOST_DATA_TEST_CASE(a_stage_with_replicas_counts_its_rounds, bdata::make(optimizers), optimizer) {
    check_whole_and_resumed(of_stages({3, 3}, {2, 1}, optimizer));
    check_whole_and_resumed(of_stages({1, 3, 2}, {1, 3, 2}, optimizer));
}

// Stages that have made different numbers of updates become others.
BOOST_DATA_TEST_CASE(another_cut_goes_on_with_the_counts_of_each_parameter, bdata::make(optimizers),
                     optimizer) {
    struct cut {
        std::vector<std::size_t> layers;
        std::vector<std::uint32_t> replicas;
    };
    const cut others[] = {{{6}, {1}}, {{1, 4, 1}, {1, 1, 1}}, {{4, 2}, {1, 3}}};
    for (const cut& other : others) {
        const temporary_folder folder;
        sequential_parameters first;
        {
            counted_run begun{of_stages({1, 3, 2}, {3, 1, 2}, optimizer), folder.path()};
            begun.stop_in_second_epoch();
            first = begun.parameters();
        }
        std::set<std::uint64_t> counts;
        for (const auto& [shape, parameter] : first)
            counts.insert(parameter.updates);
        BOOST_TEST(counts.size() == 3u);
        counted_run resumed{of_stages(other.layers, other.replicas, optimizer, first),
                            folder.path(), true};
        resumed.finish();
        BOOST_TEST(resumed.updates() > 0u);
    }
}

BOOST_DATA_TEST_CASE(a_shard_counts_the_updates_that_it_has_made,
                     bdata::make({"bsp", "asp", "{ssp: {staleness: 2}}",
                                  "{value_bounded: {bound: 0.1}}", "{softsync: {splits: 2}}",
                                  "{backup_workers: {backups: 1}}"}),
                     rule) {
    bool differ = false;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const counted_options options = of_replicas(server(rule, 3), optimizers[0], seed);
        const temporary_folder folder;
        counted_options rest = options;
        {
            counted_run begun{options, folder.path()};
            begun.stop_in_second_epoch();
            rest.first = begun.parameters();
        }
        std::set<std::uint64_t> counts;
        for (const auto& [shape, parameter] : rest.first)
            counts.insert(parameter.updates);
        differ = differ || counts.size() > 1;
        counted_run{rest, folder.path(), true}.finish();
    }
    const std::string which = rule;
    BOOST_TEST(differ == (which.find("backup") != std::string::npos));
}

// It begins with the weights of the others, and with averages of its own.
BOOST_DATA_TEST_CASE(a_newcomer_begins_to_count,
                     bdata::make({"{elastic_averaging: {period: 2}}", "{gossip: {period: 1}}",
                                  "{malt: {graph: all}}",
                                  "{admm: {penalty: 1, period: 4, quorum: 2, delay: 3}}"}),
                     sync) {
    counted_run run{
        {.app = text_of({.replicas = 3, .sync = sync, .samples = 400, .optimizer = optimizers[0]}),
         .spare_nodes = 1},
        {}};
    pipeline_sim& sim = run.sim();
    sim.sim().run_until([&] { return sim.observer().progress.samples_done >= 100; },
                        std::chrono::minutes{5});
    kill(sim, 2);
    announce(sim, 3);
    run.finish();
    BOOST_TEST(run.device(3).updates() > 0u);
    for (const auto& [shape, parameter] : run.device(3).parameters())
        BOOST_TEST(parameter.updates < run.device(0).parameters().at(shape).updates);
}

BOOST_AUTO_TEST_SUITE_END()
