// Training with gossip, MALT and ADMM.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/sim/replicas_sim.hpp"
#include "tests/support/serial_replica.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

// Two epochs of synchronous ADMM as a loop: the consensus at the end.
std::vector<float> serial_common(const std::string& text, std::uint32_t replicas,
                                 std::uint64_t period, float penalty, float rate) {
    serial_app app{text};
    std::vector<serial_replica> all;
    for (std::uint32_t r = 0; r < replicas; ++r)
        all.emplace_back(app);
    std::vector<float> common = all[0].values();
    std::vector<std::vector<float>> duals(replicas, std::vector<float>(common.size()));
    const auto agree = [&] {
        const float share = 1.0f / static_cast<float>(replicas);
        std::vector<std::vector<float>> owns;
        for (std::uint32_t r = 0; r < replicas; ++r)
            owns.push_back(all[r].values());
        for (std::size_t i = 0; i < common.size(); ++i) {
            const auto sum = [&](std::uint32_t r) {
                return owns[r][i] + 1 / penalty * duals[r][i];
            };
            common[i] = share * sum(0);
            for (std::uint32_t r = 1; r < replicas; ++r)
                common[i] += share * sum(r);
            for (std::uint32_t r = 0; r < replicas; ++r)
                duals[r][i] = duals[r][i] + penalty * (owns[r][i] - common[i]);
        }
    };
    std::uint64_t updates = 0; // since the last report
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
        const std::uint64_t minibatches = app.minibatches_of(epoch);
        const std::uint64_t rounds = (minibatches + replicas - 1) / replicas;
        for (std::uint64_t k = 0; k < rounds; ++k) {
            for (std::uint32_t r = 0; r < replicas; ++r) {
                if (k * replicas + r < minibatches)
                    all[r].step(epoch, k * replicas + r);
                auto own = all[r].values();
                for (std::size_t i = 0; i < own.size(); ++i) {
                    const float pull = duals[r][i] + penalty * (own[i] - common[i]);
                    own[i] = own[i] + -rate * pull;
                }
                all[r].set_values(own);
            }
            if (++updates == period) {
                agree();
                updates = 0;
            }
        }
        agree();
        updates = 0;
    }
    return common;
}

} // namespace

BOOST_AUTO_TEST_SUITE(peers_that_train)

BOOST_DATA_TEST_CASE(synchronous_admm_is_bit_equal_to_a_loop, bdata::make({1u, 2u, 3u}), period) {
    const replicas_app app{
        .replicas = 3,
        .sync = "{admm: {penalty: 0.5, quorum: 3, period: " + std::to_string(period) + "}}",
        .samples = 70,
        .optimizer = "sgd: {learning_rate: 0.125, momentum: 0.5}"};
    const auto common = serial_common(text_of(app), 3, period, 0.5f, 0.125f);
    const serial_app whole{text_of(app)};
    for (const sim_faults& faults : {calm, storm}) {
        const auto run = train(app, faults, period);
        std::vector<float> saved;
        for (const auto& parameter : whole.parameters())
            saved.insert(saved.end(), run.weights.at(parameter.name).begin(),
                         run.weights.at(parameter.name).end());
        BOOST_TEST((saved == common));
    }
}

BOOST_DATA_TEST_CASE(every_method_learns_under_faults, bdata::xrange(1, 15), seed) {
    const char* const methods[] = {"{gossip: {period: 1}}",
                                   "{malt: {graph: all}}",
                                   "{malt: {graph: halton, period: 2}}",
                                   "{malt: {graph: server}}",
                                   "{malt: {graph: all, aggregation: {trimmed_mean: {trim: 1}}}}",
                                   "{admm: {penalty: 1, period: 4, delay: 1}}",
                                   "{admm: {penalty: 1, period: 4, quorum: 2, delay: 3}}"};
    const auto method = static_cast<std::size_t>(seed) % std::size(methods);
    // Asynchronous ADMM is of a single stage.
    const bool is_pipeline = seed % 3 != 0 && method + 1 < std::size(methods);
    const auto run =
        train({.schedule = seed % 2 ? "pipedream" : "gpipe",
               .layers = is_pipeline ? std::vector<std::size_t>{3, 4} : std::vector<std::size_t>{7},
               .replicas = 3u + static_cast<std::uint32_t>(seed) % 2,
               .sync = methods[method],
               .samples = 330,
               .norm = "    - batch_norm\n"},
              storm, static_cast<std::uint64_t>(seed));
    BOOST_TEST(run.report.epochs.back().train_loss < run.report.epochs.front().train_loss);
}

BOOST_AUTO_TEST_SUITE_END()
