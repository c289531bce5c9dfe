// A stage as its parts know it, which a test plays: it keeps what a part sends and submits.
#pragma once

#include <boost/test/unit_test.hpp>

#include "actors/pipeline/stage/stage_port.hpp"
#include "tests/support/puppet.hpp"
#include "tests/support/stage_schedules.hpp"
#include "tests/unit/kernels/models.hpp"

namespace troupe::test {

inline actor_address number(std::uint64_t actor, std::uint64_t node = 1) {
    return {node_id{node}, actor_number{actor}};
}

// A stage of a linear layer from 3 to 2, replica 1 of 2, whose previous neighbour is number(1).
struct played_stage : stage_port {
    puppet_stage world; // for a device and memory
    stage_options its_options;
    stage_state its_state;
    std::vector<std::pair<actor_address, frame_ptr>> sent;
    std::deque<stage_work> work;
    std::vector<std::string> failures;
    std::size_t ready = 0, went_on = 0, rejected = 0;

    played_stage() {
        model_builder model{3};
        model.linear(2);
        its_options.program =
            std::make_shared<const stage_program>(stage_program::whole(model.build()).value());
        its_options.compute = world.shared_device();
        its_options.at.replica = {1, 2};
        its_options.at.schedule = schedule_of_stage("pipedream", 0, 1);
        its_options.update.rates = [](std::uint64_t minibatch) {
            return static_cast<float>(minibatch);
        };
        auto first = std::make_shared<weights>();
        first->version = weight_version{100};
        first->parameters = {world.floats({1, 2, 3, 4, 5, 6}), world.floats({7, 8})};
        first->updates = {100, 100};
        its_state.weights.set(std::move(first));
        its_state.neighbours.previous = {number(1)};
        its_state.neighbours.source = number(1);
    }
    ~played_stage() override { sent.clear(); }

    const stage_options& options() const override { return its_options; }
    stage_state& state() override { return its_state; }
    actor_address address() const override { return number(5); }
    void watch(actor_address) override {}
    bool comes_from(actor_address expected, const frame& f) override {
        rejected += f.from() == expected ? 0 : 1;
        return f.from() == expected;
    }
    void submit(stage_work w) override { work.push_back(std::move(w)); }
    void copy_to_host_then(std::vector<tensor> tensors,
                           std::function<void(std::vector<tensor>)> then) override {
        then(std::move(tensors));
    }
    gradient_buckets::hand_over to_gradients_ready() override {
        return [](std::size_t, std::vector<tensor>) {};
    }
    void tell_ready() override { ++ready; }
    void finish_update() override {
        its_state.order.finish(its_state.order.next_update(), its_state.arrivals.shape());
    }
    void go_on() override { ++went_on; }
    void fail(const error& why) override { failures.push_back(why.message()); }
    void send_built(actor_address to, proto::Envelope::Builder,
                    const std::function<frame_ptr()>& finish) override {
        sent.emplace_back(to, finish());
    }

    // Epoch 4, of minibatches of 8 samples from number 40 on. Whatever tensors arrive are taken.
    void begin_epoch(std::uint64_t minibatches, std::uint32_t microbatches = 1) {
        const auto fits = [](std::span<const tensor>, std::uint32_t) { return result<void>{}; };
        arrival_rules rules;
        rules.at = its_options.at;
        rules.previous = its_state.neighbours.previous;
        rules.next = its_state.neighbours.next;
        rules.inputs = rules.labels = rules.gradients = fits;
        its_state.arrivals = stage_arrivals{std::move(rules)};
        frame_builder<proto::EpochBegin> b;
        b.body().setEpoch(4);
        b.body().setFirstMinibatch(40);
        b.body().setMinibatches(minibatches);
        b.body().setSamplesPerMinibatch(8);
        b.body().setSamplesInLast(8);
        b.body().setMicrobatches(microbatches);
        BOOST_TEST_REQUIRE(bool(its_state.arrivals.begin(b.body(), weight_version{100})));
        its_state.order = stage_order{its_options.at.schedule.steps};
    }
    void do_work() {
        stage_work w = std::move(work.front());
        work.pop_front();
        compute_context context{*world.ops, world.memory};
        copied_weights copies;
        BOOST_TEST_REQUIRE(bool(w.work(context, copies)));
        w.then();
    }
    std::vector<tensor> gradients(float value) {
        return {world.floats(std::vector<float>(6, value)), world.floats({value, value})};
    }
    template <class Body>
    typename Body::Reader last_to(std::uint64_t actor) {
        BOOST_TEST_REQUIRE(!sent.empty());
        BOOST_TEST_REQUIRE((sent.back().first == number(actor)));
        BOOST_TEST_REQUIRE(sent.back().second->body_type() == type_id_of<Body>());
        return sent.back().second->body<Body>();
    }
    float weight() { return its_state.weights.latest()->parameters[0].values<float>()[0]; }
};

template <class Body>
frame_ptr from(std::uint64_t actor, const std::vector<tensor>& tensors,
               const std::function<void(typename Body::Builder)>& fill = {}) {
    frame_builder<Body> b;
    if (fill)
        fill(b.body());
    b.envelope().getFrom().setNode(1);
    b.envelope().getFrom().setActor(actor);
    for (const tensor& t : tensors)
        b.attach(t);
    return std::move(b).finish();
}

} // namespace troupe::test
