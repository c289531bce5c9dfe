// Downpour over a thousand networks that delay, drop, duplicate and reorder: the server has the sum of all gradients, each
// replica computes with all of its own, and waits for no more answers than it asks for.
#include <boost/test/unit_test.hpp>

#include "kernels/reference/reference.hpp"
#include "schemas/params.capnp.h"
#include "tests/sim/server_sim.hpp"
#include "tests/support/passing_operations.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/serial_replica.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr float rate = 0.0625f;

// A linear layer of two outputs whose gradients are what this makes of them: whole numbers of a minibatch's samples, and of
// the biases that of this replica counts its minibatches.
class counted_gradients final : public passing_operations<counted_gradients> {
  public:
    counted_gradients(operations& to, std::size_t replica)
        : passing_operations{to}, replica_{replica} {}

    template <class Operation>
    void after(const Operation&) {}
    void after(const linear_forward& op) {
        weight.assign(op.weight.values<float>().begin(), op.weight.values<float>().end());
        bias.assign(op.bias->values<float>().begin(), op.bias->values<float>().end());
        sums.resize(weight.size());
    }
    void after(const linear_backward& op) {
        // Before it, with these weights, forward.
        has_all_of_its_own =
            has_all_of_its_own && bias[replica_] == -rate * static_cast<float>(minibatches);
        const std::size_t in = op.input.shape()[1];
        auto gradient = op.weight_gradient->mutable_values<float>();
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            float sum = 0;
            for (std::size_t s = 0; s < op.input.shape()[0]; ++s)
                sum += std::round(8 * op.input.values<float>()[s * in + i % in]);
            gradient[i] = sum;
            sums[i] += sum;
        }
        for (std::size_t o = 0; o < 2; ++o)
            op.bias_gradient->mutable_values<float>()[o] = o == replica_ ? 1.f : 0.f;
        ++minibatches;
    }

    std::vector<float> weight, bias; // of the last forward pass
    std::vector<float> sums;         // of all gradients
    std::uint64_t minibatches = 0;
    bool has_all_of_its_own = true;

  private:
    std::size_t replica_;
};

std::string downpour_app(std::uint64_t push_every, std::uint64_t fetch_every) {
    return "troupe: 1\n"
           "data: {synthetic: {train_samples: 42, test_samples: 4, classes: 2}}\n"
           "model: {input: [1, 1, 3], layers: [linear: {out: 2}], loss: cross_entropy}\n"
           "train: {batch: 2, seed: 5, epochs: 2, optimizer: {sgd: {learning_rate: 0.0625}}}\n"
           "topology: {replicas: 2, sync: {parameter_server: {consistency: asp, push_every: " +
           std::to_string(push_every) + ", fetch_every: " + std::to_string(fetch_every) + "}}}\n";
}

// Of both replicas by the shard on the first node.
std::uint64_t pulls_of_a_shard(pipeline_sim& run) {
    const trace_batch all = run.node(0).trace().read(0, 1u << 16);
    BOOST_REQUIRE(all.lost == 0u);
    return static_cast<std::uint64_t>(std::ranges::count_if(all.events, [](const trace_event& e) {
        return e.kind == trace_kind::message && e.type == type_id_of<proto::Pull>();
    }));
}

} // namespace

BOOST_AUTO_TEST_SUITE(downpour_over_many_seeds)

BOOST_AUTO_TEST_CASE(the_server_has_the_sum_of_all_gradients_and_a_replica_all_of_its_own,
                     *seeded) {
    memory_pool pool{1u << 24};
    const auto ops = make_reference_operations();
    serial_app app{downpour_app(1, 1)};
    const std::vector<float> initial = serial_replica{app}.values(); // biases are 0
    for (const std::uint64_t seed : seed_range{1000}) {
        const std::uint64_t push = 2 + seed % 4, fetch = 1 + seed / 4 % 5;
        counted_gradients first{*ops, 0}, second{*ops, 1};
        pipeline_sim run{{.seed = seed,
                          .faults = storm,
                          .nodes = 2,
                          .app = downpour_app(push, fetch),
                          .operations_of = [&](std::size_t device) -> operations& {
                              return device == 0 ? first : second;
                          }}};
        run.train({});
        BOOST_TEST_CONTEXT("push_every " << push << ", fetch_every " << fetch) {
            const run_report& report = good_report(run);
            BOOST_TEST(first.minibatches + second.minibatches == 2u * 21);
            BOOST_TEST(first.has_all_of_its_own);
            BOOST_TEST(second.has_all_of_its_own);
            // The first replica evaluates at the end what the server has.
            for (std::size_t i = 0; i < first.sums.size(); ++i)
                BOOST_TEST(std::abs(first.weight[i] -
                                    (initial[i] - rate * (first.sums[i] + second.sums[i]))) <
                           1e-4f);
            BOOST_TEST(first.bias[0] == -rate * static_cast<float>(first.minibatches));
            BOOST_TEST(first.bias[1] == -rate * static_cast<float>(second.minibatches));
            const std::uint64_t updates = report.stages[0].weight_version;
            BOOST_TEST(updates >= (2 * 21 + push - 1) / push);
            BOOST_TEST(updates <= 2 * 21 / push + 4); // of each replica the rest of each epoch
            // One when each replica enters each epoch; no push waits for an answer.
            const std::uint64_t pulls = pulls_of_a_shard(run) - 4;
            BOOST_TEST(pulls <= 2 * 21 / fetch);
            BOOST_TEST(pulls + 4 >= 2 * 21 / fetch);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
