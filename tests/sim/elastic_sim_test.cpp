// Elastic averaging with the actors that ship.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/sim/replicas_sim.hpp"
#include "tests/support/serial_replica.hpp"

namespace bdata = boost::unit_test::data;
using namespace troupe;
using namespace troupe::test;

namespace {

std::string elastic(const std::string& settings) {
    return "{elastic_averaging: {" + settings + "}}";
}

// Two epochs of synchronous elastic averaging as a loop: the centre at the end.
template <class Replica>
std::vector<float> serial_centre(const std::string& text, std::uint32_t replicas,
                                 std::uint64_t period, float rate) {
    serial_app app{text};
    std::vector<Replica> all;
    for (std::uint32_t r = 0; r < replicas; ++r)
        all.emplace_back(app);
    std::vector<float> centre = all[0].values();
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
        std::vector<std::vector<float>> pulls(replicas);
        const std::uint64_t minibatches = app.minibatches_of(epoch);
        const std::uint64_t rounds = (minibatches + replicas - 1) / replicas;
        const auto subtract = [&](std::uint32_t r) {
            auto own = all[r].values();
            for (std::size_t i = 0; i < pulls[r].size(); ++i)
                own[i] = own[i] + -1.0f * pulls[r][i];
            if (!pulls[r].empty())
                all[r].set_values(own);
            pulls[r].clear();
        };
        for (std::uint64_t k = 0; k <= rounds; ++k) {
            if (k > 0 && k % period == 0) {
                for (std::uint32_t r = 0; r < replicas; ++r) {
                    pulls[r] = all[r].values();
                    for (std::size_t i = 0; i < centre.size(); ++i)
                        pulls[r][i] = rate * (pulls[r][i] + -1.0f * centre[i]);
                }
                for (const auto& pull : pulls)
                    for (std::size_t i = 0; i < centre.size(); ++i)
                        centre[i] += pull[i];
            }
            for (std::uint32_t r = 0; r < replicas; ++r) {
                if (k < rounds && k * replicas + r < minibatches)
                    all[r].step(epoch, k * replicas + r);
                subtract(r);
            }
        }
    }
    return centre;
}

// Nesterov's momentum as the paper of EAMSGD writes it: v = delta v - eta g(x + delta v), x = x + v. The centre draws, and
// is drawn by, what the gradient is taken at.
class nesterov_by_hand {
  public:
    static constexpr float delta = 0.9f, eta = 0.05f;

    explicit nesterov_by_hand(serial_app& of) : gradients_{of}, x_{gradients_.values()} {
        v_.resize(x_.size());
    }

    void step(std::uint32_t epoch, std::uint64_t minibatch) {
        gradients_.set_values(values());
        const auto g = gradients_.gradient(epoch, minibatch);
        for (std::size_t i = 0; i < x_.size(); ++i) {
            v_[i] = delta * v_[i] - eta * g[i];
            x_[i] += v_[i];
        }
    }
    std::vector<float> values() const {
        std::vector<float> ahead = x_;
        for (std::size_t i = 0; i < x_.size(); ++i)
            ahead[i] += delta * v_[i];
        return ahead;
    }
    void set_values(const std::vector<float>& ahead) {
        for (std::size_t i = 0; i < x_.size(); ++i)
            x_[i] = ahead[i] - delta * v_[i];
    }

  private:
    serial_replica gradients_;
    std::vector<float> x_, v_;
};

std::vector<float> in_order(const saved_tensors& saved, const serial_app& app) {
    std::vector<float> all;
    for (const auto& parameter : app.parameters())
        all.insert(all.end(), saved.at(parameter.name).begin(), saved.at(parameter.name).end());
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(elastic_averaging_in_the_simulator)

// e of the weights before an update, subtracted after it; with momentum (EAMSGD), too. 70 samples leave the last replicas a
// minibatch less.
BOOST_DATA_TEST_CASE(synchronous_is_bit_equal_to_the_loop_of_its_paper,
                     bdata::make({1u, 2u, 3u}) * bdata::make({"0", "0.9", "0.9, nesterov: true"}),
                     period, momentum) {
    const replicas_app app{
        .replicas = 4,
        .sync = elastic("synchronous: true, rate: 0.25, period: " + std::to_string(period)),
        .samples = 70,
        .optimizer = std::string{"sgd: {learning_rate: 0.05, momentum: "} + momentum + "}"};
    const auto centre = serial_centre<serial_replica>(text_of(app), 4, period, 0.25f);
    const serial_app whole{text_of(app)};
    for (const sim_faults& faults : {calm, storm}) {
        const auto run = train(app, faults, period);
        BOOST_TEST((in_order(run.weights, whole) == centre));
    }
}

// Which the optimizer has in another form.
BOOST_DATA_TEST_CASE(eamsgd_is_the_loop_of_its_paper_with_the_momentum_written_out,
                     bdata::make({1u, 2u, 3u}), period) {
    replicas_app app{
        .replicas = 4,
        .sync = elastic("synchronous: true, rate: 0.25, period: " + std::to_string(period)),
        .samples = 70,
        .optimizer = "sgd: {learning_rate: 0.05, momentum: 0.9, nesterov: true}"};
    const auto centre = serial_centre<nesterov_by_hand>(text_of(app), 4, period, 0.25f);
    const auto farthest_from_centre = [&] {
        const serial_app whole{text_of(app)};
        const auto saved = in_order(train(app, storm, period).weights, whole);
        float most = 0;
        for (std::size_t i = 0; i < centre.size(); ++i)
            most = std::max(most, std::abs(saved[i] - centre[i]));
        return most;
    };
    BOOST_TEST(farthest_from_centre() < 1e-5f);
    app.optimizer = "sgd: {learning_rate: 0.05, momentum: 0.9}"; // is another method
    BOOST_TEST(farthest_from_centre() > 1e-3f);
}

// The loss of the replicas may rise: the slow one is behind, and may have more minibatches of the second epoch.
BOOST_DATA_TEST_CASE(the_centre_learns_at_any_speeds_of_the_replicas,
                     bdata::make({1.0, 3.0, 20.0}) * bdata::xrange(1, 5), slow, seed) {
    const replicas_app app{.replicas = 4,
                           .sync = elastic("period: 4"),
                           .samples = 2000,
                           .batch = 4,
                           .optimizer = "sgd: {learning_rate: 0.03, momentum: 0.9, nesterov: true}",
                           .more = "schedule: {cosine: {final_factor: 0.05}}"};
    pipeline_sim run{{.seed = static_cast<std::uint64_t>(seed),
                      .faults = calm,
                      .nodes = 4,
                      .app = text_of(app),
                      .flops_per_second = 1e8,
                      .slow_last = slow}};
    run.train({});
    const auto& epochs = good_report(run).epochs;
    BOOST_TEST(epochs.back().test_loss < epochs.front().test_loss + 0.05);
    BOOST_TEST(*epochs.back().test_accuracy > 0.8);
}

// A rate of nothing is what rounds to nothing.
BOOST_AUTO_TEST_CASE(with_a_rate_of_nothing_replicas_train_by_themselves_and_the_centre_stays) {
    for (const char* how : {"true", "false"}) {
        const replicas_app app{
            .sync = elastic(std::string{"rate: 1e-38, period: 1, synchronous: "} + how)};
        serial_app whole{text_of(app)};
        BOOST_TEST((in_order(train(app).weights, whole) == serial_replica{whole}.values()));
    }
    const auto alone = train({.sync = "{local_sgd: {period: 1000000}}"});
    const auto elastic_losses =
        train({.sync = elastic("rate: 1e-38, period: 1, synchronous: true")}).report.epochs;
    BOOST_TEST(elastic_losses[0].train_loss == alone.report.epochs[0].train_loss);
}

BOOST_DATA_TEST_CASE(training_learns_under_faults_on_cut_models_with_running_averages,
                     bdata::xrange(1, 9), seed) {
    const bool synchronous = seed % 2 == 0;
    const auto run =
        train({.schedule = seed % 4 < 2 ? "pipedream" : "gpipe",
               .layers = seed % 3 ? std::vector<std::size_t>{3, 4} : std::vector<std::size_t>{7},
               .replicas = 2u + static_cast<std::uint32_t>(seed) % 3,
               .sync = elastic(std::string{"period: 2, synchronous: "} +
                               (synchronous ? "true" : "false")),
               .samples = 990,
               .norm = "    - batch_norm\n"},
              storm, static_cast<std::uint64_t>(seed));
    // Of the centre, on 20 samples of three classes: a single wrong one may have a large loss.
    BOOST_TEST(*run.report.epochs.back().test_accuracy > 0.6);
    BOOST_TEST(run.report.epochs.back().train_loss < run.report.epochs.front().train_loss);
}

// The stage without parameters has nothing to exchange.
BOOST_AUTO_TEST_CASE(synchronous_replicas_of_cut_models_have_the_bits_of_those_of_whole_ones) {
    const std::string sync = elastic("period: 2, synchronous: true");
    const auto whole = train({.sync = sync, .samples = 70});
    for (const std::vector<std::size_t>& layers : {std::vector<std::size_t>{1, 3, 2}, {1, 2, 3}})
        BOOST_TEST((train({.layers = layers, .sync = sync, .samples = 70}, storm, 4).weights ==
                    whole.weights));
}

BOOST_AUTO_TEST_SUITE_END()
