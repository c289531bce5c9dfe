// Asynchronous elastic averaging against a sequential program: it makes the updates and the exchanges that a run made, in
// the order that the centre recorded, and has the run's bits.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "kernels/cpu/cpu_operations.hpp"
#include "schemas/base/random.hpp"
#include "schemas/peers.capnp.h"
#include "schemas/pipeline.capnp.h"
#include "tests/sim/recording_operations.hpp"
#include "tests/sim/replicas_sim.hpp"
#include "tests/support/seeds.hpp"
#include "tests/support/serial_replica.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr std::uint32_t replicas = 3;
constexpr float rate = 0.25f;

// The model in stages, which have a centre each.
struct cut {
    std::vector<std::size_t> layers;
    std::vector<std::size_t> parameters; // number of tensors, by stage
};

// A stage of a replica did this with its weights, at a time of its node.
struct deed {
    enum class kind : std::uint8_t { update, subtraction, hand_over } what;
    std::int64_t at;
    std::uint64_t minibatch; // of the run
};

// A run as its nodes have recorded it.
struct recorded {
    std::vector<std::vector<std::vector<deed>>> deeds; // by stage and replica
    std::vector<std::vector<std::uint32_t>> meetings;  // by stage: the replicas that its centre met
    std::vector<std::vector<float>> last;              // by replica: its weights at the end
    std::vector<float> centre;                         // of all stages
};

// The learning rate falls, so each minibatch has its own. Devices are as slow as the network: answers arrive in any pass.
replicas_app app_with(const cut& c, std::uint32_t period, const std::string& optimizer) {
    return {.layers = c.layers,
            .replicas = replicas,
            .sync = "{elastic_averaging: {rate: 0.25, period: " + std::to_string(period) + "}}",
            .samples = 330,
            .optimizer = optimizer,
            .more = "schedule: {cosine: {final_factor: 0.05}}"};
}

std::vector<trace_event> events_of(node_runtime& node) {
    const trace_batch all = node.trace().read(0, 1u << 16);
    BOOST_TEST_REQUIRE(all.lost == 0u);
    return all.events;
}

std::optional<actor_number> actor_on(node_runtime& node, const std::string& name) {
    for (const auto& [number, of] : node.trace().actor_names())
        if (of.ends_with(name))
            return number;
    return std::nullopt;
}

std::string name_of(const char* role, std::size_t stage, std::uint32_t replica) {
    return std::string{role} + "-" + std::to_string(stage) + "." + std::to_string(replica);
}

std::vector<deed> deeds_of(node_runtime& node, actor_number stage, actor_number peer) {
    const std::uint64_t updates = node.trace().label(proto::UPDATE_WORK->cStr());
    const std::uint64_t exchanges = node.trace().label(proto::EXCHANGE_WORK->cStr());
    std::vector<deed> deeds;
    for (const trace_event& e : events_of(node))
        if (e.kind == trace_kind::compute && e.to_actor == stage && e.type == updates)
            deeds.push_back({deed::kind::update, e.ended_ns, e.work.value()});
        else if (e.kind == trace_kind::compute && e.to_actor == stage && e.type == exchanges)
            deeds.push_back({deed::kind::subtraction, e.ended_ns, e.work.value()});
        else if (e.to_actor == peer && e.type == type_id_of<proto::Exchange>())
            deeds.push_back({deed::kind::hand_over, e.sent_ns, e.work.value()});
    std::ranges::stable_sort(deeds, {}, &deed::at);
    return deeds;
}

// The weights of a stage after all that its device computed.
std::vector<float> last_weights(const recording_operations& device, std::size_t parameters,
                                std::size_t elements, bool subtracted_last) {
    std::vector<std::vector<float>> tensors;
    for (const auto& update : device.updates())
        tensors.push_back(update.after);
    if (subtracted_last)
        for (const auto& addition : device.additions()) // a centre's are of all tensors in one row
            if (addition.factor == -1 && addition.sum.size() != elements)
                tensors.push_back(addition.sum);
    std::vector<float> all;
    for (std::size_t t = tensors.size() - parameters; t < tensors.size(); ++t)
        all.insert(all.end(), tensors[t].begin(), tensors[t].end());
    return all;
}

// Elements of each stage's parameters.
std::vector<std::size_t> elements_of(const serial_app& whole, const cut& c) {
    std::vector<std::size_t> elements;
    auto next = whole.parameters().begin();
    for (const std::size_t parameters : c.parameters) {
        elements.push_back(0);
        for (std::size_t p = 0; p < parameters; ++p)
            elements.back() += (next++)->shape.elements();
    }
    return elements;
}

// Where a stage of a replica has run.
struct spot {
    std::size_t node;
    actor_number stage, peer;
};

spot spot_of(pipeline_sim& run, std::size_t nodes, std::size_t stage, std::uint32_t replica) {
    for (std::size_t n = 0; n < nodes; ++n)
        if (const auto found = actor_on(run.node(n), name_of("stage", stage, replica)))
            return {n, *found, actor_on(run.node(n), name_of("peer", stage, replica)).value()};
    BOOST_FAIL("every stage runs on a node");
    return {};
}

recorded train_and_record(const replicas_app& app, const cut& c, std::uint64_t seed,
                          double slow_last) {
    static memory_pool pool{1ull << 28};
    static const auto ops = make_cpu_operations(pool);
    const std::size_t stages = c.layers.size();
    std::deque<recording_operations> devices;
    for (std::size_t d = 0; d < stages * replicas; ++d)
        devices.emplace_back(*ops);
    const temporary_folder folder;
    pipeline_sim run{{.seed = seed,
                      .faults = storm,
                      .nodes = devices.size(),
                      .app = text_of(app),
                      .flops_per_second = 1e7,
                      .slow_last = slow_last,
                      .operations_of = [&](std::size_t d) -> operations& { return devices[d]; }}};
    run.train(folder.path());
    good_report(run);

    const serial_app whole{text_of(app)};
    const auto elements = elements_of(whole, c);
    recorded out{.deeds = std::vector(stages, std::vector<std::vector<deed>>(replicas)),
                 .meetings = std::vector<std::vector<std::uint32_t>>(stages),
                 .last = std::vector<std::vector<float>>(replicas),
                 .centre = {}};
    for (std::size_t s = 0; s < stages; ++s) {
        std::map<node_id, std::uint32_t> replica_on;
        for (std::uint32_t r = 0; r < replicas; ++r) {
            const spot at = spot_of(run, devices.size(), s, r);
            replica_on[run.node(at.node).node()] = r;
            auto& deeds = out.deeds[s][r];
            deeds = deeds_of(run.node(at.node), at.stage, at.peer);
            const auto weights = last_weights(devices[at.node], c.parameters[s], elements[s],
                                              deeds.back().what == deed::kind::subtraction);
            out.last[r].insert(out.last[r].end(), weights.begin(), weights.end());
        }
        for (const trace_event& e : events_of(run.node(spot_of(run, devices.size(), s, 0).node)))
            if (e.type == type_id_of<proto::Meet>())
                out.meetings[s].push_back(replica_on.at(e.from_node));
    }
    const auto saved = saved_in(folder.path());
    for (const auto& parameter : whole.parameters())
        out.centre.insert(out.centre.end(), saved.at(parameter.name).begin(),
                          saved.at(parameter.name).end());
    return out;
}

// The sequential program: no replica computes while another does, and nothing is under way. What it takes from the run is
// the order alone.
class program {
  public:
    program(const replicas_app& app, const cut& c, const recorded& run)
        : app_{text_of(app)}, run_{run}, elements_{elements_of(app_, c)},
          next_deed_(c.layers.size(), std::vector<std::size_t>(replicas)),
          next_meeting_(c.layers.size()), handed_(c.layers.size(), parts(replicas)),
          pulls_(handed_) {
        for (std::uint32_t r = 0; r < replicas; ++r)
            replicas_.emplace_back(app_);
        centre_ = replicas_[0].values();
        while (go_on())
            ;
    }

    // Has made all that the run did.
    bool is_over() const {
        for (std::size_t s = 0; s < elements_.size(); ++s) {
            if (next_meeting_[s] != run_.meetings[s].size())
                return false;
            for (std::uint32_t r = 0; r < replicas; ++r)
                if (next_deed_[s][r] != run_.deeds[s][r].size() || !pulls_[s][r].empty())
                    return false;
        }
        return true;
    }
    std::vector<float> weights_of(std::uint32_t r) const { return replicas_[r].values(); }
    const std::vector<float>& centre() const { return centre_; }

  private:
    using parts = std::vector<std::vector<float>>; // by replica; those of a stage; empty: none

    bool go_on() {
        bool any = false;
        for (std::uint32_t r = 0; r < replicas; ++r)
            any |= update(r);
        for (std::size_t s = 0; s < elements_.size(); ++s) {
            any |= meet(s);
            for (std::uint32_t r = 0; r < replicas; ++r)
                any |= hand_over(s, r) || subtract(s, r);
        }
        return any;
    }

    const deed* next(std::size_t stage, std::uint32_t r, deed::kind what) const {
        const auto& deeds = run_.deeds[stage][r];
        const std::size_t at = next_deed_[stage][r];
        return at < deeds.size() && deeds[at].what == what ? &deeds[at] : nullptr;
    }

    bool update(std::uint32_t r) { // of all its stages, by one minibatch
        for (std::size_t s = 0; s < elements_.size(); ++s)
            if (!next(s, r, deed::kind::update))
                return false;
        const std::uint64_t minibatch = next(0, r, deed::kind::update)->minibatch;
        for (std::size_t s = 0; s < elements_.size(); ++s) {
            BOOST_TEST_REQUIRE(next(s, r, deed::kind::update)->minibatch == minibatch);
            ++next_deed_[s][r];
        }
        const std::uint64_t of_first = app_.minibatches_of(0);
        minibatch < of_first ? replicas_[r].step(0, minibatch)
                             : replicas_[r].step(1, minibatch - of_first);
        return true;
    }

    bool hand_over(std::size_t s, std::uint32_t r) {
        if (!next(s, r, deed::kind::hand_over))
            return false;
        ++next_deed_[s][r];
        handed_[s][r] = part_of(replicas_[r].values(), s);
        return true;
    }

    // x - c once, for both.
    bool meet(std::size_t s) {
        if (next_meeting_[s] == run_.meetings[s].size())
            return false;
        const std::uint32_t r = run_.meetings[s][next_meeting_[s]];
        if (handed_[s][r].empty())
            return false;
        ++next_meeting_[s];
        pulls_[s][r] = std::exchange(handed_[s][r], {});
        for (std::size_t i = 0; i < elements_[s]; ++i) {
            float& c = centre_[first_of(s) + i];
            float& e = pulls_[s][r][i];
            e = rate * (e - c);
            c += e;
        }
        return true;
    }

    bool subtract(std::size_t s, std::uint32_t r) {
        if (!next(s, r, deed::kind::subtraction) || pulls_[s][r].empty())
            return false;
        ++next_deed_[s][r];
        auto all = replicas_[r].values();
        for (std::size_t i = 0; i < elements_[s]; ++i)
            all[first_of(s) + i] -= pulls_[s][r][i];
        replicas_[r].set_values(all);
        pulls_[s][r].clear();
        return true;
    }

    std::size_t first_of(std::size_t stage) const {
        std::size_t first = 0;
        for (std::size_t s = 0; s < stage; ++s)
            first += elements_[s];
        return first;
    }
    std::vector<float> part_of(const std::vector<float>& all, std::size_t s) const {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(first_of(s));
        return {first, first + static_cast<std::ptrdiff_t>(elements_[s])};
    }

    serial_app app_;
    const recorded& run_;
    const std::vector<std::size_t> elements_; // by stage
    std::vector<serial_replica> replicas_;
    std::vector<float> centre_; // of all stages
    // By stage, and then by replica.
    std::vector<std::vector<std::size_t>> next_deed_;
    std::vector<std::size_t> next_meeting_;
    std::vector<parts> handed_, pulls_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(asynchronous_elastic_averaging_in_the_simulator)

// With Nesterov's momentum it is EAMSGD. A model in several stages has as many centres, each with an order of its own.
BOOST_AUTO_TEST_CASE(
    asynchronous_elastic_averaging_equals_a_sequential_program_in_the_recorded_order, *seeded) {
    const cut models[] = {{{6}, {6}}, {{3, 3}, {2, 4}}, {{1, 3, 2}, {2, 2, 2}}};
    const double speeds[] = {1, 3, 20};
    const char* optimizers[] = {"sgd: {learning_rate: 0.05, momentum: 0}",
                                "sgd: {learning_rate: 0.05, momentum: 0.9, nesterov: true}"};
    for (const std::uint64_t seed : seed_range{24}) {
        random_stream dice{seed, 0};
        const cut& c = models[dice.below(3)];
        const auto app =
            app_with(c, 1 + static_cast<std::uint32_t>(dice.below(4)), optimizers[dice.below(2)]);
        const recorded run = train_and_record(app, c, seed, speeds[dice.below(3)]);
        const program replay{app, c, run};
        BOOST_TEST(replay.is_over());
        for (std::uint32_t r = 0; r < replicas; ++r)
            BOOST_TEST((replay.weights_of(r) == run.last[r]), "replica " << r);
        BOOST_TEST((replay.centre() == run.centre));
    }
}

BOOST_AUTO_TEST_SUITE_END()
