// The pipeline's equalities on real devices, with a thread per stage and no simulated time: on one node, and on
// two over UCX.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "actors/agent/node_agent.hpp"
#include "actors/runtime/timers.hpp"
#include "actors/training/roles/training_roles.hpp"
#include "actors/training/trainer.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "kernels/cpu/product_loops.hpp"
#include "tests/support/all_messages.hpp"
#include "tests/support/pipeline_app.hpp"
#include "tests/support/saved_weights.hpp"
#include "tests/support/sequential.hpp"
#include "tests/support/temporary_folder.hpp"
#include "transport/node/node_endpoint.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

class waiting_listener final : public run_listener {
  public:
    void finished(const run_finished& news) override {
        std::lock_guard guard{lock_};
        report_ = news;
        changed_.notify_all();
    }
    run_finished wait() {
        std::unique_lock guard{lock_};
        const bool ended =
            changed_.wait_for(guard, std::chrono::minutes{1}, [&] { return report_.has_value(); });
        BOOST_REQUIRE_MESSAGE(ended, "the run ends within a minute");
        return *report_;
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::optional<run_finished> report_;
};

// Something to train, and where its weights go. Outlives the nodes that it is trained on.
struct training {
    training(const std::string& schedule, const std::vector<std::size_t>& cut,
             const app_settings& settings = {})
        : layers{cut}, delayed{schedule == "pipedream"},
          app{parse_training(pipeline_app(schedule, cut, 3) + "checkpoint: {directory: unused}\n",
                             "app.yaml", settings)
                  .value()},
          data{std::make_shared<const data_sets>(
              load_data(app.app().getData(), tensor_shape{1, 6, 6}, app.app().getTrain().getSeed())
                  .value())} {}

    std::shared_ptr<device> make_device(unsigned index) const {
        return make_cpu_device({.index = index, .memory_bytes_max = 1u << 28}, time).value();
    }

    // Trains to the end, and stops the node that its trainer is on.
    void run(node_runtime& node, const std::vector<plan_device>& places,
             std::shared_ptr<device> io) {
        trainer_options options{.app = app};
        options.run = 5;
        options.devices = places;
        options.data = data;
        options.io = std::move(io);
        options.store =
            std::make_shared<checkpoint_store>(checkpoint_store::open({folder.path(), 1}).value());
        options.listener = &listener;
        node.spawn_of_run<trainer>(5, "trainer", std::move(options));
        const run_finished report = listener.wait();
        node.stop();
        BOOST_REQUIRE_MESSAGE(!report.failure, (report.failure ? report.failure->message() : ""));
    }

    void check_against_the_sequential_program() const {
        memory_pool pool{1u << 28};
        const auto ops = make_cpu_operations(pool);
        compute_context context{*ops, pool};
        const auto expected = train_sequentially(
            context, app, data->train,
            {.layers = layers, .delayed = delayed, .microbatches = delayed ? 1u : 3u});
        check_weights(folder.path(), expected, layers, app.app().getModel());
    }

    const monotonic_time time;
    const std::vector<std::size_t> layers;
    const bool delayed;
    const training_app app;
    const std::shared_ptr<const data_sets> data;
    const temporary_folder folder;
    waiting_listener listener;
};

// A node with one device, and peers.
struct member {
    member(const training& t, unsigned number)
        : compute{t.make_device(number)}, network{make_network(t)}, node{
                                                                        {.node = id,
                                                                         .name = "n",
                                                                         .time = &t.time,
                                                                         .timers = &timers,
                                                                         .network = network.get(),
                                                                         .messages = all_messages(),
                                                                         .threads = 1}} {
        node.spawn_as<node_agent>(well_known::agent, "agent",
                                  node_agent_options{training_roles(), {compute}});
        BOOST_REQUIRE(node.start().ok());
    }
    ~member() {
        node.stop();
        drain(*compute);
    }

    std::unique_ptr<endpoint> make_network(const training& t) {
        endpoint_options own;
        id = own.identity.node();
        own.self.name = "n";
        own.self.address = "127.0.0.1:0";
        own.keys = std::make_shared<key_ring>(cluster_keys{"a key of sixteen bytes and more"});
        own.links.pool = &pool;
        own.links.time = &t.time;
        return make_node_endpoint(std::move(own)).value();
    }
    plan_device place() const { return {node.node(), "n", compute->name()}; }

    thread_timers timers;
    memory_pool pool{1u << 28};
    std::shared_ptr<device> compute;
    node_id id;
    std::unique_ptr<endpoint> network;
    node_runtime node;
};

} // namespace

BOOST_AUTO_TEST_SUITE(pipelines_on_threads)

BOOST_DATA_TEST_CASE(the_weights_equal_the_sequential_programs,
                     bdata::make({"pipedream", "gpipe"}) * bdata::xrange(1, 5), schedule, stages) {
    const std::vector<std::vector<std::size_t>> cuts = {{6}, {3, 3}, {1, 3, 2}, {1, 1, 2, 2}};
    training t{schedule, cuts[stages - 1]};
    std::vector<std::shared_ptr<device>> compute;
    for (int i = 0; i <= stages; ++i) // the last one prepares batches and writes files
        compute.push_back(t.make_device(i));
    thread_timers timers;
    node_runtime node{{.node = node_id{1},
                       .name = "n",
                       .time = &t.time,
                       .timers = &timers,
                       .messages = all_messages()}};
    std::vector<plan_device> places;
    for (int i = 0; i < stages; ++i)
        places.push_back({node.node(), "n", compute[i]->name()});
    node.spawn_as<node_agent>(
        well_known::agent, "agent",
        node_agent_options{training_roles(), {compute.begin(), compute.begin() + stages}});
    BOOST_REQUIRE(node.start().ok());
    t.run(node, places, compute.back());
    for (const auto& d : compute) // what one device still holds may be another one's memory
        drain(*d);
    t.check_against_the_sequential_program();
}

// With pipedream the first of three stages keeps three versions of its weights, but the optimizer's state once.
BOOST_AUTO_TEST_CASE(a_plan_says_the_memory_that_a_stage_takes) {
    for (const std::string schedule : {"pipedream", "gpipe"}) {
        training t{
            schedule,
            {4, 1, 1},
            {"model.layers[3].linear.out=4096", "train.optimizer={adam: {learning_rate: 0.01}}"}};
        std::vector<std::shared_ptr<device>> compute;
        for (unsigned i = 0; i < 4; ++i)
            compute.push_back(t.make_device(i));
        thread_timers timers;
        node_runtime node{{.node = node_id{1},
                           .name = "n",
                           .time = &t.time,
                           .timers = &timers,
                           .messages = all_messages()}};
        std::vector<plan_device> places;
        for (unsigned i = 0; i < 3; ++i)
            places.push_back({node.node(), "n", compute[i]->name()});
        node.spawn_as<node_agent>(
            well_known::agent, "agent",
            node_agent_options{training_roles(), {compute.begin(), compute.begin() + 3}});
        BOOST_REQUIRE(node.start().ok());
        t.run(node, places, compute.back());
        for (const auto& d : compute)
            drain(*d);
        const planned_stage said = make_plan({t.app.app(), places, {}}).value().stages[0];
        const std::uint64_t peak = compute[0]->memory().statistics().bytes_in_use_peak;
        // Buffers are up to a quarter larger than what lies in them; a pass back has more beside them: with AVX2 also the
        // packed factors of the gradients of the large layer's weights.
        const std::uint64_t packed = cpu::product_loops_avx2.workspace_floats * sizeof(float);
        const std::uint64_t bytes = said.needs.weight_bytes + said.needs.kept_bytes;
        BOOST_TEST(peak >= bytes);
        BOOST_TEST(peak < bytes + bytes / 4 + packed);
    }
}

// Here most handlers run on the threads of the endpoints.
BOOST_DATA_TEST_CASE(they_equal_them_over_a_network_too, bdata::make({"pipedream", "gpipe"}),
                     schedule) {
    training t{schedule, {3, 3}};
    const auto background = t.make_device(0);
    {
        member first{t, 1}, second{t, 2};
        first.node.connect(second.node.listen_address());
        while (first.node.peers().empty() || second.node.peers().empty())
            std::this_thread::yield();
        t.run(first.node, {first.place(), second.place()}, background);
    }
    drain(*background);
    t.check_against_the_sequential_program();
}

BOOST_AUTO_TEST_SUITE_END()
