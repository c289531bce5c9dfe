// A parameter server of two shards and its workers' caches over a simulated network, with workers that know what they have
// pushed: push c of worker w in epoch e adds 1 to an element of its own, so that weights show which pushes are in them.
#pragma once

#include <boost/test/unit_test.hpp>
#include <capnp/message.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "actors/messages.hpp"
#include "actors/params/parameter_cache.hpp"
#include "actors/params/parameter_shard.hpp"
#include "actors/runtime/simulator.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/base/random.hpp"
#include "schemas/probe.capnp.h"
#include "tests/support/all_messages.hpp"

namespace troupe::test {

inline constexpr std::size_t pushes_max = 16; // of a worker in an epoch
inline constexpr std::uint32_t epochs_of_workers = 2;

inline constexpr sim_faults wild{.delay_min = std::chrono::microseconds{10},
                                 .delay_max = std::chrono::milliseconds{20},
                                 .drop = 0.05,
                                 .duplicate = 0.05};

// Of random workers with random shares; with `same` all have as many.
inline std::vector<std::vector<std::uint64_t>> random_shares(std::uint64_t seed, bool same) {
    random_stream random{seed};
    const std::size_t workers = 2 + random.below(3);
    std::vector<std::vector<std::uint64_t>> shares(workers);
    for (std::uint32_t e = 0; e < epochs_of_workers; ++e) {
        const std::uint64_t all = 1 + random.below(4);
        for (auto& share : shares)
            share.push_back(same ? all : random.below(7));
    }
    return shares;
}

inline std::size_t element_of(std::size_t workers, std::uint32_t epoch, std::size_t worker,
                              std::uint64_t push) {
    return (epoch * workers + worker) * pushes_max + push;
}

// Of the last element, where all push to it.
inline float common_gradient(std::size_t worker, std::uint64_t push) {
    return 1 + static_cast<float>(worker) / 4 - static_cast<float>(push) / 8;
}

// What a worker was answered; tensors by shard.
struct seen_weights {
    std::uint32_t epoch = 0;
    std::uint64_t pushes = 0; // of its own, before
    std::uint64_t version = 0, staleness = 0;
    std::vector<std::vector<float>> values; // less than nothing by what was applied
};

struct worker_log {
    std::vector<seen_weights> reads;
    std::vector<std::uint64_t> pushes; // by epoch
    std::uint64_t dropped = 0;
    bool over = false;
    std::vector<std::vector<float>> last; // what the server has at the end
    std::uint64_t last_version = 0;
};

struct worker_script {
    std::uint32_t worker = 0;
    std::uint32_t workers = 1;
    std::uint32_t server_worker = 0;  // to the server; that of all on its node
    bool is_first = true;             // of its node: reads at the end what the server has
    bool has_common = false;          // one element more, which all push to
    std::vector<std::uint64_t> share; // pushes by epoch
    std::uint64_t versions_of_epoch =
        0; // instead of a share: the epoch ends with this many; 0: a share
    std::vector<actor_address> shards;
    actor_address cache;
    actor_address keeps; // the shard beside it; may be none
    std::uint64_t seed = 1;
    std::uint64_t unanswered = 0; // of a hundred pushes, after which it pulls nothing
    duration slow = std::chrono::milliseconds{10}; // a gradient takes up to that
};

class scripted_worker final : public actor {
  public:
    scripted_worker(actor_context& context, worker_script script, memory_pool& memory,
                    worker_log& log)
        : actor{context}, script_{std::move(script)}, memory_{memory}, log_{log},
          random_{script_.seed} {
        on<proto::ServerJoined>(&scripted_worker::joined);
        on<proto::Fetched>(&scripted_worker::fetched);
        on<proto::EpochFinished>(&scripted_worker::finished);
        on<proto::Probe>(&scripted_worker::computed);
        log_.pushes.resize(epochs_of_workers);
    }

  private:
    tensor zeros() {
        const std::size_t elements = epochs_of_workers * script_.workers * pushes_max;
        tensor t =
            tensor::allocate(memory_, data_type::float32, {elements + (script_.has_common ? 1 : 0)})
                .value();
        std::ranges::fill(t.mutable_values<float>(), 0.f);
        return t;
    }
    tensor gradient() {
        tensor t = zeros();
        if (script_.has_common)
            t.mutable_values<float>().back() = common_gradient(script_.worker, pushes_);
        t.mutable_values<float>()[element_of(script_.workers, epoch_, script_.worker, pushes_)] = 1;
        return t;
    }
    void on_start() override {
        watch(script_.cache);
        frame_builder<proto::JoinServer> join;
        join.body().setWorker(script_.server_worker);
        auto list = join.body().initShards(static_cast<unsigned>(script_.shards.size()));
        for (unsigned k = 0; k < list.size(); ++k)
            write_address(list[k], script_.shards[k]);
        write_address(join.body().initKeeps(), script_.keeps);
        join.body().initUpdates(static_cast<unsigned>(script_.shards.size()));
        for (std::size_t k = 0; k < script_.shards.size(); ++k)
            join.attach(zeros());
        send(script_.cache, std::move(join));
    }
    void joined(proto::ServerJoined::Reader, const frame&) { enter(); }
    void enter() {
        pushes_ = 0;
        frame_builder<proto::EnterEpoch> enter;
        enter.body().setEpoch(epoch_);
        send(script_.cache, std::move(enter));
    }
    void fetched(proto::Fetched::Reader body, const frame& f) {
        seen_weights seen{epoch_, pushes_, body.getWeightVersion(), body.getStaleness(), {}};
        for (const tensor& t : f.tensors())
            seen.values.emplace_back(t.values<float>().begin(), t.values<float>().end());
        if (epoch_ == epochs_of_workers) { // after the last one
            log_.last = std::move(seen.values);
            log_.last_version = seen.version;
            log_.over = true;
            return;
        }
        log_.dropped += body.getDropped();
        const bool ends = script_.versions_of_epoch > 0
                              ? seen.version >= (epoch_ + 1) * script_.versions_of_epoch
                              : pushes_ >= script_.share[epoch_];
        log_.reads.push_back(std::move(seen));
        go_on(ends);
    }
    void go_on(bool ends) {
        if (ends || pushes_ == pushes_max)
            return finish();
        frame_builder<proto::Probe> done;
        const auto wait = static_cast<std::int64_t>(
            random_.below(static_cast<std::uint64_t>(script_.slow.count())) + 1);
        after(duration{wait}, std::move(done));
    }
    void computed(proto::Probe::Reader, const frame&) {
        frame_builder<proto::Offer> offer;
        offer.body().setEpoch(epoch_);
        offer.body().setClock(pushes_);
        offer.body().setMinibatch(pushes_);
        for (std::size_t k = 0; k < script_.shards.size(); ++k)
            offer.attach(gradient());
        ++pushes_;
        ++log_.pushes[epoch_];
        const bool pulls = script_.unanswered == 0 || random_.below(100) >= script_.unanswered;
        offer.body().setFetch(pulls);
        send(script_.cache, std::move(offer));
        if (!pulls)
            go_on(pushes_ >= script_.share[epoch_]);
    }
    void finish() {
        frame_builder<proto::FinishEpoch> finish;
        finish.body().setEpoch(epoch_);
        send(script_.cache, std::move(finish));
    }
    void finished(proto::EpochFinished::Reader, const frame&) {
        if (++epoch_ < epochs_of_workers)
            return enter();
        if (!script_.is_first)
            log_.over = true;
        else
            send(script_.cache, frame_builder<proto::Refresh>{});
    }

    worker_script script_;
    memory_pool& memory_;
    worker_log& log_;
    random_stream random_;
    std::uint32_t epoch_ = 0;
    std::uint64_t pushes_ = 0;
};

struct played_options {
    std::uint64_t versions_of_epoch = 0;
    codec_ptr codec = nullptr;
    std::uint64_t unanswered = 0;
    std::size_t trace_events = 64; // per node
    std::size_t members = 1;       // workers on each node, which one cache serves
    delay_compensation compensation = {};
    bool has_common = false;
};

struct played_server {
    memory_pool memory{1u << 26};
    const std::unique_ptr<operations> ops = make_reference_operations();
    const played_options options;
    std::vector<worker_log> logs;
    simulator sim;

    // Plain descent at a rate of 1 from zeros, so that weights are minus the sum of what was applied.
    // With members the workers of a node follow each other.
    played_server(const consistency& rule, std::uint64_t seed, const sim_faults& faults,
                  const std::vector<std::vector<std::uint64_t>>& shares,
                  const played_options& played = {})
        : options{played}, logs(shares.size()), sim{{.seed = seed,
                                                     .trace_events = played.trace_events,
                                                     .messages = test::all_messages()}} {
        const auto workers = static_cast<std::uint32_t>(shares.size());
        const auto servers = static_cast<std::uint32_t>(workers / played.members);
        for (std::uint32_t n = 0; n < servers; ++n)
            nodes.push_back(&sim.add_node("n" + std::to_string(n)));
        for (std::uint32_t a = 0; a < servers; ++a)
            for (std::uint32_t b = a + 1; b < servers; ++b)
                nodes[a]->connect("sim:n" + std::to_string(b));
        sim.run_until(
            [&] {
                return std::ranges::all_of(
                    nodes, [&](node_runtime* n) { return n->peers().size() + 1 == nodes.size(); });
            },
            std::chrono::minutes{5});
        sim.network().set_faults(faults);
        const std::size_t count = std::min<std::size_t>(2, servers);
        const tensor_shape shape{epochs_of_workers * workers * pushes_max +
                                 (played.has_common ? 1 : 0)};
        std::vector<std::shared_ptr<device>> devices;
        for (std::uint32_t n = 0; n < servers; ++n)
            devices.emplace_back(std::shared_ptr<void>{},
                                 &sim.add_device(*nodes[n], {.seed = seed + n}, *ops));
        for (std::size_t k = 0; k < count; ++k) {
            parameter_shard_options shard;
            shard.rules.rule = rule;
            shard.rules.optimizer = plain_descent();
            shard.rules.compensation = played.compensation;
            shard.workers = servers;
            shard.shapes = {shape};
            shard.rates = [](std::uint64_t) { return 1.0f; };
            shard.rules.forms = {played.codec};
            shard.compute = devices[k];
            shards.push_back(nodes[k]->spawn<parameter_shard>("shard", std::move(shard)));
        }
        for (std::uint32_t n = 0; n < servers; ++n) {
            parameter_cache_options cache;
            for (std::size_t k = 0; k < count; ++k) {
                cache.ranges.push_back({k, 1});
                cache.shapes.push_back(shape);
            }
            cache.members = played.members;
            cache.codec = played.codec;
            cache.seed = seed;
            cache.workers = servers;
            cache.compute = devices[n];
            caches.push_back(nodes[n]->spawn<parameter_cache>("cache", std::move(cache)));
        }
        for (std::uint32_t w = 0; w < workers; ++w) {
            const auto n = static_cast<std::uint32_t>(w / played.members);
            const bool is_first = w % played.members == 0;
            const actor_address keeps = is_first && n < count ? shards[n] : actor_address{};
            random_stream random{seed * 64 + w};
            nodes[n]->spawn<scripted_worker>(
                "worker",
                worker_script{w, workers, n, is_first, played.has_common, shares[w],
                              played.versions_of_epoch, shards, caches[n], keeps, seed * 64 + w,
                              played.unanswered, std::chrono::milliseconds{1 + random.below(20)}},
                memory, logs[w]);
        }
        ended = sim.run_until(
            [&] { return std::ranges::all_of(logs, [](const worker_log& l) { return l.over; }); },
            std::chrono::minutes{10});
    }

    static optimizer_ptr plain_descent() {
        capnp::MallocMessageBuilder message;
        auto description = message.initRoot<proto::Optimizer>();
        description.initSgd().setLearningRate(1);
        return make_optimizer(description.asReader());
    }

    std::vector<node_runtime*> nodes; // of the workers; shard k is on the k-th
    std::vector<actor_address> shards;
    std::vector<actor_address> caches;
    bool ended = false;
};

} // namespace troupe::test
