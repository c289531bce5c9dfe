// Reducers of gradients, compressed or not, between stages that follow a script: random gradients, one sum after another.
// So a thousand seeds are looked at in little time, and what no training shows is seen: every number.
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "actors/collective/compressed_reducer.hpp"
#include "actors/collective/compressed_sum.hpp"
#include "actors/messages.hpp"
#include "actors/runtime/simulator.hpp"
#include "kernels/reference/reference.hpp"
#include "schemas/base/random.hpp"
#include "schemas/probe.capnp.h"
#include "tests/sim/peers_sim.hpp"
#include "tests/support/all_messages.hpp"

namespace troupe::test {

struct reducers_script {
    std::vector<tensor_shape> shapes;
    std::size_t averages = 0; // of these the first
    std::uint64_t seed = 1;
    std::uint64_t sums = 3;
    float scale = 0.5f;
    bool exact = false; // sums have the same bits in whatever order

    // In some but the first sum a rank has nothing.
    bool has_nothing(std::uint32_t rank, std::uint64_t sum) const {
        return sum > 0 && (seed + rank + sum) % 7 == 0;
    }
    std::vector<tensor> gradients(memory_pool& pool, std::uint32_t rank, std::uint64_t sum) const {
        std::vector<tensor> list;
        for (const tensor_shape& shape : shapes) {
            tensor t = tensor::allocate(pool, data_type::float32, shape).value();
            random_stream random{seed * 64 + sum, rank * 64 + list.size()};
            for (float& x : t.mutable_values<float>())
                x = exact ? static_cast<float>(random.below(256)) - 128
                          : static_cast<float>(random.uniform() * 2 - 1);
            list.push_back(std::move(t));
        }
        return list;
    }
};

// What a scripted stage has got. Belongs to the test.
struct reduced_record {
    std::vector<std::vector<few_numbers>> sums; // by sum, by tensor
    std::vector<std::string> downs;
};

// Acts as stage_actor does towards its reducer. Gives its tensors in two messages, the last tensor first. `how` is null for
// gradients as they are.
class summing_stage final : public actor {
  public:
    summing_stage(actor_context& context, const reducers_script& s, const codec_ptr& how,
                  std::uint32_t rank, compute_context compute, reduced_record& record,
                  std::vector<actor_address> reducers)
        : actor{context}, script_{s}, rank_{rank}, compute_{compute}, record_{record},
          reducers_{std::move(reducers)} {
        if (how && how->low_rank() == nullptr)
            encoder_.emplace(gradient_encoder::options{
                .how = how,
                .shapes = {s.shapes.begin() + static_cast<std::ptrdiff_t>(s.averages),
                           s.shapes.end()},
                .seed = s.seed,
                .replica = rank,
                .replicas = static_cast<std::uint32_t>(reducers_.size())});
        on<proto::Probe>(&summing_stage::act);
        on<proto::Reduced>(&summing_stage::reduced);
    }

  private:
    void act(proto::Probe::Reader, const frame&) {
        if (std::exchange(joined_, true))
            return ask();
        frame_builder<proto::JoinReduction> join;
        join.body().setRank(rank_);
        auto list = join.body().initMembers(static_cast<unsigned>(reducers_.size()));
        for (unsigned r = 0; r < list.size(); ++r)
            write_address(list[r], reducers_[r]);
        watch(reducers_[rank_]);
        send(reducers_[rank_], std::move(join));
    }
    void ask() {
        const std::uint64_t sum = record_.sums.size();
        if (sum == script_.sums)
            return;
        if (script_.has_nothing(rank_, sum))
            return submit(0, {});
        auto own = script_.gradients(compute_.memory, rank_, sum);
        if (encoder_) {
            const auto gradients = std::span{own}.subspan(script_.averages);
            auto payloads = encoder_->encode(compute_, 0, gradients, 0);
            TROUPE_CHECK(payloads.ok(), "gradients are encoded");
            std::ranges::move(*payloads, gradients.begin());
        }
        const auto last = static_cast<std::uint32_t>(own.size() - 1);
        submit(last, {own.back()});
        own.pop_back();
        if (!own.empty())
            submit(0, own);
    }
    void submit(std::uint32_t first, const std::vector<tensor>& own) {
        frame_builder<proto::Reduce> request;
        request.body().setReduction(record_.sums.size());
        request.body().setScale(script_.scale);
        request.body().setFirst(first);
        for (const tensor& t : own)
            request.attach(t);
        send(reducers_[rank_], std::move(request));
    }
    void reduced(proto::Reduced::Reader, const frame& f) {
        auto& sums = record_.sums.emplace_back();
        for (const tensor& t : f.tensors())
            sums.emplace_back(t.values<float>().begin(), t.values<float>().end());
        ask();
    }
    void on_down(actor_address, const error& why) override {
        record_.downs.push_back(why.message());
    }

    const reducers_script script_;
    const std::uint32_t rank_;
    compute_context compute_;
    std::optional<gradient_encoder> encoder_;
    reduced_record& record_;
    const std::vector<actor_address> reducers_;
    bool joined_ = false;
};

// Nodes with so many ranks each, the last one perhaps with fewer; of each rank a device, a reducer and its stage. Run to the
// end.
class reducers_sim {
  public:
    // Spawns the reducer of a rank.
    using maker = std::function<actor_address(node_runtime&, compressed_options)>;

    reducers_sim(const reducers_script& s, const codec_ptr& how, std::uint32_t ranks,
                 const sim_faults& faults, const maker& make, std::uint32_t ranks_of_node = 1)
        : records(ranks), sim_{{.seed = s.seed, .messages = all_messages()}}, ranks_of_node_{
                                                                                  ranks_of_node} {
        payload_forms forms(s.shapes.size());
        if (how && how->low_rank() == nullptr)
            std::fill(forms.begin() + static_cast<std::ptrdiff_t>(s.averages), forms.end(), how);
        for (std::uint32_t r = 0; r < ranks; ++r) {
            if (r % ranks_of_node == 0)
                nodes_.push_back(&sim_.add_node("node-" + std::to_string(nodes_.size())));
            node_runtime& node = node_of(r);
            auto& device = sim_.add_device(node,
                                           {.name = "sim:" + std::to_string(r % ranks_of_node),
                                            .jitter = 0.3,
                                            .seed = s.seed + r},
                                           *operations_);
            reducers_.push_back(make(node, {.compute = {std::shared_ptr<void>{}, &device},
                                            .shapes = s.shapes,
                                            .averages = s.averages,
                                            .forms = forms,
                                            .codec = how,
                                            .seed = s.seed}));
        }
        for (std::size_t n = 0; n < nodes_.size(); ++n)
            for (std::size_t other = n + 1; other < nodes_.size(); ++other)
                nodes_[n]->connect("sim:" + nodes_[other]->options().name);
        sim_.run_until(
            [&] {
                return std::ranges::all_of(nodes_, [&](node_runtime* n) {
                    return n->peers().size() + 1 == nodes_.size();
                });
            },
            std::chrono::minutes{5});
        for (std::uint32_t r = 0; r < ranks; ++r)
            stages_.push_back(node_of(r).spawn<summing_stage>(
                "stage", s, how, r, compute_context{*operations_, memory_}, records[r], reducers_));
        poke();
        sim_.run_for(std::chrono::milliseconds{10});
        sim_.network().set_faults(faults);
        poke();
        sim_.run_until(
            [&] {
                return std::ranges::all_of(records, [&](const reduced_record& r) {
                    return r.sums.size() == s.sums || !r.downs.empty();
                });
            },
            std::chrono::minutes{5});
        for (const reduced_record& r : records)
            BOOST_TEST_REQUIRE(r.sums.size() == s.sums,
                               (r.downs.empty() ? "it hangs" : r.downs[0]));
    }

    // Of some chunks: how many, and their bytes, words and tensors.
    struct traffic {
        std::uint64_t messages = 0;
        std::uint64_t bytes = 0;
    };
    traffic taken_by(std::uint32_t rank) const {
        return traffic_of([&](const trace_event& e, node_id node) {
            return actor_address{node, e.to_actor} == reducers_[rank];
        });
    }
    traffic sent_by(std::uint32_t rank) const {
        return traffic_of([&](const trace_event& e, node_id) {
            return actor_address{e.from_node, e.from_actor} == reducers_[rank];
        });
    }
    traffic sent_to_other_nodes_by(std::uint32_t rank) const {
        return traffic_of([&](const trace_event& e, node_id node) {
            return actor_address{e.from_node, e.from_actor} == reducers_[rank] &&
                   e.from_node != node;
        });
    }

    bool all_ranks_have_the_same_bits() const {
        for (const reduced_record& r : records)
            for (std::size_t s = 0; s < r.sums.size(); ++s)
                for (std::size_t t = 0; t < r.sums[s].size(); ++t) {
                    const auto &a = r.sums[s][t], &b = records[0].sums[s][t];
                    if (a.size() != b.size() ||
                        std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0)
                        return false;
                }
        return true;
    }

    std::vector<reduced_record> records;

  private:
    node_runtime& node_of(std::size_t rank) { return *nodes_[rank / ranks_of_node_]; }

    void poke() {
        for (std::size_t r = 0; r < stages_.size(); ++r)
            node_of(r).send(stages_[r], frame_builder<proto::Probe>{});
    }

    // Of the chunks for which this holds, and the node that has taken them.
    template <class Counts>
    traffic traffic_of(const Counts& counts) const {
        traffic t;
        for (node_runtime* const node : nodes_)
            for (const trace_event& e : node->trace().read(0, 1u << 14).events)
                if (e.kind == trace_kind::message && e.type == type_id_of<proto::ReduceChunk>() &&
                    counts(e, node->node())) {
                    ++t.messages;
                    t.bytes += e.bytes;
                }
        return t;
    }

    memory_pool memory_{1u << 26};
    const std::unique_ptr<operations> operations_ = make_reference_operations();
    simulator sim_;
    const std::uint32_t ranks_of_node_;
    std::vector<node_runtime*> nodes_;
    std::vector<actor_address> reducers_; // by rank
    std::vector<actor_address> stages_;   // by rank
};

} // namespace troupe::test
