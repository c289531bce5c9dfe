// Peers between stages that follow a script: few numbers for weights, a random increment for an update, each stage as fast
// as it likes. So thousands of seeds are looked at in little time, and what no training shows is seen: every number.
#pragma once

#include <functional>
#include <vector>

#include "actors/messages.hpp"
#include "actors/peers/peer_actor.hpp"
#include "actors/peers/weight_exchange.hpp"
#include "actors/runtime/simulator.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/base/random.hpp"
#include "schemas/probe.capnp.h"

namespace troupe::test {

using few_numbers = std::vector<float>;

inline constexpr sim_faults bad_weather{.delay_min = std::chrono::microseconds{10},
                                        .delay_max = std::chrono::milliseconds{20},
                                        .drop = 0.05,
                                        .duplicate = 0.05};

// What a scripted stage has done. Belongs to the test.
struct stage_record {
    few_numbers own;               // the weights now
    few_numbers gained;            // the sum of all increments
    std::vector<few_numbers> kept; // the weights after each exchange
    few_numbers common;
    bool done = false;
    std::vector<std::string> downs;
};

struct script {
    weight_exchange exchange;
    std::size_t updates = 12;
    std::size_t elements = 3;
    std::uint64_t seed = 1;
    float step = 1;  // increments are below it
    float apart = 0; // how far the replicas are from each other at the beginning
    std::optional<std::uint32_t> liar = {}; // hands over nonsense
};

// Acts as stage_actor does, without a model: an update at each Probe, which it sends itself.
class scripted_stage final : public actor {
  public:
    scripted_stage(actor_context& context, script s, std::uint32_t rank, memory_pool& memory,
                   stage_record& record, std::vector<actor_address> peers)
        : actor{context}, script_{s}, random_{s.seed, rank}, rank_{rank}, memory_{memory},
          record_{record}, peers_{std::move(peers)} {
        on<proto::Probe>(&scripted_stage::act);
        on<proto::Exchanged>(&scripted_stage::exchanged);
        on<proto::Common>(&scripted_stage::common);
        record_.own.resize(s.elements);
        record_.gained.resize(s.elements);
        record_.common.clear();
        for (float& x : record_.own) // every replica begins with the same
            x = static_cast<float>(s.seed % 7) + s.apart * static_cast<float>(rank);
    }

  private:
    void act(proto::Probe::Reader, const frame&) {
        if (!std::exchange(joined_, true))
            return join();
        if (record_.done)
            return send(peers_[rank_], frame_builder<proto::ReadCommon>{});
        update();
    }

    void join() {
        frame_builder<proto::JoinPeers> join;
        join.body().setRank(rank_);
        auto list = join.body().initMembers(static_cast<unsigned>(peers_.size()));
        for (unsigned r = 0; r < list.size(); ++r)
            write_address(list[r], peers_[r]);
        join.attach(own_tensor());
        watch(peers_[rank_]);
        send(peers_[rank_], std::move(join));
    }

    bool waits() const {
        return exchanging_ && script_.exchange.waits &&
               (!script_.exchange.overlaps || updates_ > handed_after_);
    }

    void update() {
        if (updates_ < script_.updates) {
            ++updates_;
            for (std::size_t i = 0; i < script_.elements; ++i) {
                const float more =
                    script_.step * (static_cast<float>(random_.below(256)) - 127.5f) / 128;
                record_.own[i] += more;
                record_.gained[i] += more;
            }
        }
        go_on();
    }

    void go_on() {
        idle_ = waits(); // until the answer
        if (idle_)
            return;
        if (addition_ && updates_ > handed_after_)
            add_up();
        if (!exchanging_ && !addition_ && updates_ > handed_after_ &&
            script_.exchange.is_due_after(updates_))
            return hand_over(false);
        rest();
    }

    void rest() {
        if (updates_ < script_.updates)
            return pace();
        if (script_.exchange.at_end == weight_exchange::ending::last_exchange && !handed_last_ &&
            !exchanging_)
            return hand_over(true);
        if (exchanging_)
            return;
        if (addition_)
            add_up();
        record_.done = true;
    }

    void pace() {
        after(std::chrono::microseconds{1 + random_.below(4000)}, frame_builder<proto::Probe>{});
    }

    void hand_over(bool last) {
        exchanging_ = true;
        handed_last_ = last;
        handed_after_ = updates_;
        frame_builder<proto::Exchange> exchange;
        exchange.body().setLast(last);
        exchange.attach(own_tensor());
        send(peers_[rank_], std::move(exchange));
        if (script_.exchange.overlaps)
            rest();
    }

    void exchanged(proto::Exchanged::Reader body, const frame& f) {
        exchanging_ = false;
        if (body.getFactor() == 0) {
            const auto values = f.tensors()[0].values<float>();
            record_.own.assign(values.begin(), values.end());
            record_.kept.push_back(record_.own);
        } else {
            addition_ = current();
        }
        if (std::exchange(idle_, false) || !script_.exchange.overlaps ||
            updates_ == script_.updates)
            go_on();
    }

    void add_up() {
        const auto values = addition_->tensors()[0].values<float>();
        const float factor = addition_->body<proto::Exchanged>().getFactor();
        for (std::size_t i = 0; i < script_.elements; ++i)
            record_.own[i] += factor * values[i];
        record_.kept.push_back(record_.own);
        addition_.reset();
    }

    void common(proto::Common::Reader, const frame& f) {
        const auto values = f.tensors()[0].values<float>();
        record_.common.assign(values.begin(), values.end());
    }

    void on_down(actor_address, const error& why) override {
        record_.downs.push_back(why.message());
    }

    void on_rejected(proto::Rejected::Reader body, const frame&) override {
        record_.downs.push_back(read_reason(body.getReason()));
    }

    tensor own_tensor() {
        tensor t = tensor::allocate(memory_, data_type::float32, {record_.own.size()}).value();
        std::ranges::copy(record_.own, t.mutable_values<float>().begin());
        if (script_.liar == rank_)
            std::ranges::fill(t.mutable_values<float>(), 1e6f);
        return t;
    }

    const script script_;
    random_stream random_;
    const std::uint32_t rank_;
    memory_pool& memory_;
    stage_record& record_;
    std::vector<actor_address> peers_;
    std::size_t updates_ = 0, handed_after_ = 0;
    bool joined_ = false, exchanging_ = false, handed_last_ = false, idle_ = false;
    frame_ptr addition_;
};

// A node for each replica, with a device, a peer and its stage.
class peers_sim {
  public:
    // Spawns the peer of a rank.
    using maker = std::function<actor_address(node_runtime&, peer_options, std::uint32_t rank)>;

    peers_sim(const script& s, std::uint32_t replicas, const sim_faults& faults, const maker& make)
        : records(replicas), sim_{{.seed = s.seed}} {
        std::vector<actor_address> peers;
        for (std::uint32_t r = 0; r < replicas; ++r) {
            node_runtime& node = sim_.add_node("node-" + std::to_string(r));
            nodes_.push_back(&node);
            auto& device = sim_.add_device(
                node, {.name = "sim:0", .jitter = 0.3, .seed = s.seed + r}, *operations_);
            peers.push_back(make(
                node, {{std::shared_ptr<void>{}, &device}, {}, {tensor_shape{s.elements}}}, r));
        }
        for (std::uint32_t r = 0; r < replicas; ++r)
            for (std::uint32_t other = r + 1; other < replicas; ++other)
                nodes_[r]->connect("sim:" + nodes_[other]->options().name);
        sim_.run_until(
            [&] {
                return std::ranges::all_of(
                    nodes_, [&](node_runtime* n) { return n->peers().size() + 1 == replicas; });
            },
            std::chrono::minutes{5});
        for (std::uint32_t r = 0; r < replicas; ++r)
            stages_.push_back(
                nodes_[r]->spawn<scripted_stage>("stage", s, r, memory_, records[r], peers));
        poke();
        sim_.run_for(std::chrono::milliseconds{10});
        sim_.network().set_faults(faults);
    }

    // To the end, and then what each peer says is common to all.
    void run(duration limit = std::chrono::minutes{5}) {
        poke();
        finish(limit);
    }
    void start() { poke(); }
    void finish(duration limit = std::chrono::minutes{5}) {
        sim_.run_until(
            [&] {
                return std::ranges::all_of(
                    records, [](const auto& r) { return r.done || !r.downs.empty(); });
            },
            limit);
    }
    // There are no heartbeats here by which the death would be noticed if its own news is lost.
    void kill(std::uint32_t replica) {
        sim_.kill(*nodes_[replica]);
        records[replica].done = true;
        sim_.run_for(std::chrono::milliseconds{100});
        for (node_runtime* const other : nodes_)
            if (other != nodes_[replica])
                other->send(stages_[replica], frame_builder<proto::Probe>{});
    }
    void read_common(std::uint32_t replica) {
        nodes_[replica]->send(stages_[replica], frame_builder<proto::Probe>{});
        sim_.run_until([&] { return !records[replica].common.empty(); }, std::chrono::minutes{1});
    }

    simulator& sim() noexcept { return sim_; }
    node_runtime& node(std::size_t r) noexcept { return *nodes_[r]; }

    std::vector<stage_record> records;

  private:
    void poke() {
        for (std::size_t r = 0; r < stages_.size(); ++r)
            nodes_[r]->send(stages_[r], frame_builder<proto::Probe>{});
    }

    memory_pool memory_{1u << 26};
    const std::unique_ptr<operations> operations_ = make_reference_operations();
    simulator sim_;
    std::vector<node_runtime*> nodes_;
    std::vector<actor_address> stages_;
};

// The sum over all replicas of each number.
inline std::vector<double> sum_of(const std::vector<stage_record>& records,
                                  few_numbers stage_record::*what) {
    std::vector<double> sum((records[0].*what).size());
    for (const stage_record& r : records)
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += static_cast<double>((r.*what)[i]);
    return sum;
}

} // namespace troupe::test
