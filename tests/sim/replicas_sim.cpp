#include "tests/sim/replicas_sim.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/collective/all_reduce.hpp"

namespace troupe::test {

void replace(std::string& text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    BOOST_REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
}

std::string text_of(const replicas_app& a) {
    std::string text = pipeline_app(a.schedule, a.layers, 2, a.optimizer, a.more);
    replace(text, "train_samples: 70", "train_samples: " + std::to_string(a.samples));
    replace(text, "batch: 8", "batch: " + std::to_string(a.batch));
    replace(text, "microbatches: 3", "microbatches: " + std::to_string(a.microbatches));
    if (!a.norm.empty())
        replace(text, "    - relu\n", a.norm + "    - relu\n");
    if (a.replicas > 1)
        replace(text, "topology: {",
                "topology: {replicas: " + std::to_string(a.replicas) + ", sync: " + a.sync + ", ");
    return text + "checkpoint: {directory: unused}\n";
}

saved_tensors saved_in(const std::filesystem::path& folder) {
    const auto infos = list_checkpoints(folder).value();
    BOOST_REQUIRE(!infos.empty());
    const loaded_checkpoint saved = load_checkpoint(infos.back()).value();
    saved_tensors out;
    for (const auto& file : saved.files())
        for (const named_tensor& t : file.view.tensors) {
            auto& values = out[t.name];
            values.resize(t.bytes.size() / sizeof(float));
            std::memcpy(values.data(), t.bytes.data(), t.bytes.size());
        }
    return out;
}

trained train(const replicas_app& a, const sim_faults& faults, std::uint64_t seed) {
    const temporary_folder folder;
    pipeline_sim run{
        {.seed = seed, .faults = faults, .nodes = a.layers.size() * a.replicas, .app = text_of(a)}};
    run.train(folder.path());
    const run_report& report = good_report(run);
    BOOST_TEST(report.epochs.size() == 2u);
    BOOST_TEST(report.epochs.back().samples == a.samples);
    return {report, saved_in(folder.path())};
}

void check_stop_and_resume(const replicas_app& a) {
    const auto whole = train(a);
    const temporary_folder folder;
    const std::size_t nodes = a.layers.size() * a.replicas;
    {
        pipeline_sim run{{.faults = calm, .nodes = nodes, .app = text_of(a)}};
        run.start(folder.path());
        run.sim().run_until([&] { return run.observer().progress.samples_done >= 24; },
                            std::chrono::minutes{5});
        run.run_node().send(run.trainer_address(), frame_builder<proto::StopRun>{});
        run.run_to_the_end();
        BOOST_TEST((failure_of(run).code() == errc::cancelled));
        const auto infos = list_checkpoints(folder.path()).value();
        BOOST_REQUIRE(infos.size() == 1u);
        const std::uint64_t done = infos[0].progress.minibatches_of_epoch;
        BOOST_TEST(done % a.replicas == 0u); // whole rounds
        BOOST_TEST(done > 0u);
        BOOST_TEST(done < (a.samples + a.batch - 1) / a.batch);
    }
    pipeline_sim run{{.seed = 2, .faults = calm, .nodes = nodes, .app = text_of(a)}};
    run.start(folder.path(), true);
    run.run_to_the_end();
    good_report(run);
    BOOST_TEST((saved_in(folder.path()) == whole.weights));
}

double farthest(const saved_tensors& a, const saved_tensors& b) {
    double most = 0;
    BOOST_REQUIRE(a.size() == b.size());
    for (const auto& [name, values] : a) {
        const auto& others = b.at(name);
        BOOST_REQUIRE(values.size() == others.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            most = std::max(most, static_cast<double>(std::abs(values[i] - others[i])));
    }
    return most;
}

const std::vector<std::string>& algorithms() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> names;
        for (const proto::AllReduceAlgorithm a : list_algorithms())
            names.emplace_back(name_of(a));
        return names;
    }();
    return all;
}

std::string all_reduce_by(const std::string& algorithm) {
    return "{all_reduce: {algorithm: " + algorithm + "}}";
}

} // namespace troupe::test
