// The pipeline's equalities on real devices: one node, a worker thread per stage, no simulated time.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <condition_variable>
#include <mutex>

#include "actors/device/node_agent.hpp"
#include "actors/runtime/timers.hpp"
#include "kernels/cpu/cpu_device.hpp"
#include "kernels/cpu/cpu_operations.hpp"
#include "tests/support/pipeline_app.hpp"
#include "tests/support/saved_weights.hpp"
#include "tests/support/temporary_folder.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

class waiting_observer final : public training_observer {
  public:
    void started(const plan&) override {}
    void progressed(const training_progress&) override {}
    void epoch_done(const epoch_report&) override {}
    void finished(const run_report& r) override {
        std::lock_guard guard{lock_};
        report_ = r;
        changed_.notify_all();
    }
    run_report wait() {
        std::unique_lock guard{lock_};
        const bool ended =
            changed_.wait_for(guard, std::chrono::minutes{1}, [&] { return report_.has_value(); });
        BOOST_REQUIRE_MESSAGE(ended, "the run ends within a minute");
        return *report_;
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::optional<run_report> report_;
};

run_report train_on_threads(const app_definition& app, std::size_t devices,
                            std::shared_ptr<const data_sets> data,
                            const std::filesystem::path& folder) {
    const monotonic_clock time;
    std::vector<std::shared_ptr<device>> compute;
    for (unsigned i = 0; i <= devices; ++i) // the last one prepares batches and writes files
        compute.push_back(
            make_cpu_device({.index = i, .memory_bytes_max = 1u << 28}, time).value());
    thread_timers timers;
    waiting_observer observer;
    node_runtime node{{.node = node_id{1}, .name = "n", .time = &time, .timers = &timers}};
    std::vector<plan_device> places;
    for (unsigned i = 0; i < devices; ++i)
        places.push_back({node.node(), "n", compute[i]->name()});
    trainer_options options{.app = app};
    options.run = 5;
    options.devices = places;
    options.data = std::move(data);
    options.worker = compute.back();
    options.store = std::make_shared<checkpoint_store>(checkpoint_store::open({folder, 1}).value());
    options.observer = &observer;
    node.spawn_as<node_agent>(well_known::agent, "agent",
                              node_agent_options{{compute.begin(), compute.begin() + devices}});
    BOOST_REQUIRE(node.start().ok());
    node.spawn<trainer>("trainer", std::move(options));
    const run_report report = observer.wait();
    node.stop();
    for (const auto& d : compute) // what one device still holds may be another one's memory
        drain(*d);
    return report;
}

} // namespace

BOOST_AUTO_TEST_SUITE(pipelines_on_threads)

BOOST_DATA_TEST_CASE(the_weights_equal_the_sequential_programs,
                     bdata::make({"pipedream", "gpipe"}) * bdata::xrange(1, 5), schedule, stages) {
    const std::vector<std::vector<std::size_t>> cuts = {{6}, {3, 3}, {1, 3, 2}, {1, 1, 2, 2}};
    const auto& layers = cuts[stages - 1];
    const auto app =
        parse_app(pipeline_app(schedule, layers, 3) + "checkpoint: {directory: unused}\n",
                  "app.yaml")
            .value();
    const auto data = std::make_shared<const data_sets>(
        load_data(app.app().getData(), tensor_shape{1, 6, 6}, app.app().getTrain().getSeed())
            .value());
    const temporary_folder folder;
    const run_report report = train_on_threads(app, layers.size(), data, folder.path());
    BOOST_REQUIRE_MESSAGE(!report.failure, (report.failure ? report.failure->message() : ""));

    memory_pool pool{1u << 28};
    const auto ops = make_cpu_operations(pool);
    compute_context context{*ops, pool};
    const bool delayed = std::string{schedule} == "pipedream";
    sequential_trainer sequential{context, app.app(), data->train,
                                  layers,  delayed,   delayed ? 1u : 3u};
    check_weights(folder.path(), sequential.run(), layers, app.app().getModel());
}

BOOST_AUTO_TEST_SUITE_END()
