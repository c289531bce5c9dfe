// Hogwild on the devices of one simulated node.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <deque>

#include "kernels/cpu/cpu_operations.hpp"
#include "tests/sim/recording_operations.hpp"
#include "tests/sim/replicas_sim.hpp"
#include "tests/support/serial_replica.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint32_t replicas = 3;

struct hogwild_run {
    run_report report;
    saved_tensors weights;
    std::deque<recording_operations> devices;
};

hogwild_run train_on_one_node(const replicas_app& a, std::uint64_t seed) {
    static memory_pool pool{1ull << 28};
    static const auto ops = make_cpu_operations(pool);
    const std::size_t devices = replicas * a.layers.size();
    hogwild_run out;
    for (std::size_t d = 0; d < devices; ++d)
        out.devices.emplace_back(*ops);
    const temporary_folder folder;
    pipeline_sim run{
        {.seed = seed,
         .faults = storm,
         .nodes = 1,
         .devices_of_node = devices,
         .app = text_of(a),
         .operations_of = [&](std::size_t d) -> operations& { return out.devices[d]; }}};
    run.train(folder.path());
    out.report = good_report(run);
    out.weights = saved_in(folder.path());
    return out;
}

replicas_app app_with(const std::vector<std::size_t>& layers) {
    return {.layers = layers,
            .replicas = replicas,
            .sync = "hogwild",
            .samples = 330,
            .optimizer = "sgd: {learning_rate: 0.02}"};
}

} // namespace

BOOST_AUTO_TEST_SUITE(hogwild_in_the_simulator)

// Replicas overtake each other and update what others have changed meanwhile: no update is lost, but for rounding.
BOOST_DATA_TEST_CASE(weights_are_the_first_ones_and_all_updates_of_all_replicas,
                     bdata::xrange(1, 9), seed) {
    const auto run = train_on_one_node(app_with({6}), static_cast<std::uint64_t>(seed));
    serial_app whole{text_of(app_with({6}))};
    const auto& parameters = whole.parameters();
    std::vector<std::vector<double>> gained(parameters.size());
    std::size_t updates = 0;
    for (const recording_operations& device : run.devices) {
        BOOST_TEST(device.updates().size() > 2 * parameters.size()); // all of them take part
        updates += device.updates().size();
        for (std::size_t u = 0; u < device.updates().size(); ++u) {
            const auto& [before, after] = device.updates()[u];
            auto& gain = gained[u % parameters.size()];
            gain.resize(before.size());
            for (std::size_t i = 0; i < before.size(); ++i)
                gain[i] += static_cast<double>(after[i]) - static_cast<double>(before[i]);
        }
    }
    BOOST_TEST(updates == 2 * 42 * parameters.size()); // by each minibatch of two epochs
    const auto values = serial_replica{whole}.values();
    auto begins = values.begin();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const auto& saved = run.weights.at(parameters[p].name);
        for (std::size_t i = 0; i < saved.size(); ++i)
            BOOST_TEST(std::abs(static_cast<double>(*begins++) + gained[p][i] -
                                static_cast<double>(saved[i])) < 1e-5);
    }
}

BOOST_DATA_TEST_CASE(it_learns_whole_and_cut, bdata::xrange(1, 9), seed) {
    const auto layers = seed % 2 ? std::vector<std::size_t>{6} : std::vector<std::size_t>{3, 3};
    const auto run = train_on_one_node(app_with(layers), static_cast<std::uint64_t>(seed));
    BOOST_TEST(run.report.epochs.back().test_loss < run.report.epochs.front().train_loss);
}

BOOST_AUTO_TEST_CASE(the_same_seed_has_the_same_bits_and_another_one_other_bits) {
    const auto once = train_on_one_node(app_with({6}), 1).weights;
    BOOST_TEST((train_on_one_node(app_with({6}), 1).weights == once));
    BOOST_TEST((train_on_one_node(app_with({6}), 2).weights != once));
}

BOOST_AUTO_TEST_SUITE_END()
