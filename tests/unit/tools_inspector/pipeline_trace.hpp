// Made-up traces of a pipeline: what the nodes of a run with S stages would have recorded, on one time line.
#pragma once

#include <string>
#include <vector>

#include "schemas/device.capnp.h"
#include "schemas/pipeline.capnp.h"
#include "tools/inspector/minibatch_path.hpp"

namespace troupe::inspector {

// The data source is actor 20 on node 1; stage s is actor 30 + s on node 1 + s % 2.
class pipeline_trace {
  public:
    static constexpr std::uint64_t source = 20;
    static constexpr std::int64_t wire_ns = 50'000, mailbox_ns = 1'000, handler_ns = 2'000,
                                  queue_ns = 10'000, run_ns = 1'000'000;

    explicit pipeline_trace(int stages) : stages_{stages} {
        for (const std::uint64_t node : {1, 2}) {
            node_names& n = names[node_id{node}];
            n.name = node == 1 ? "a" : "b";
            n.labels = {"forward", "backward", "update"};
            n.types = {{capnp::typeId<proto::Activation>(), "Activation"},
                       {capnp::typeId<proto::Gradient>(), "Gradient"},
                       {capnp::typeId<proto::WorkDone>(), "WorkDone"}};
            traces.push_back({node_id{node}, {}, {}});
        }
        names[node_id{1}].actors[actor_number{source}] = "data";
        for (int s = 0; s < stages; ++s)
            names[node_of(s)].actors[actor_of(s)] = "stage-" + std::to_string(s);
    }

    static node_id node_of(int stage) {
        return node_id{stage < 0 ? 1u : 1u + static_cast<unsigned>(stage) % 2};
    }
    static actor_number actor_of(int stage) {
        return actor_number{stage < 0 ? source : 30 + static_cast<std::uint64_t>(stage)};
    }
    static std::uint64_t type_of(const char* name) {
        return std::string_view{name} == "Activation" ? capnp::typeId<proto::Activation>()
               : std::string_view{name} == "Gradient" ? capnp::typeId<proto::Gradient>()
                                                      : capnp::typeId<proto::WorkDone>();
    }

    // One minibatch of one microbatch, there and back; each stage's version is `version` + its number.
    void run(std::uint64_t minibatch, std::uint64_t version) {
        std::uint64_t cause = message("WorkDone", -1, -1, minibatch, none, 0);
        for (int s = 0; s < stages_; ++s)
            cause = pass("Activation", s - 1, s, 0, minibatch,
                         version + static_cast<std::uint64_t>(s), cause);
        for (int s = stages_ - 1; s >= 0; --s) {
            const std::uint64_t used = version + static_cast<std::uint64_t>(s);
            if (s + 1 == stages_)
                cause = work(s, 1, minibatch, used, cause);
            else
                cause = pass("Gradient", s + 1, s, 1, minibatch, used, cause);
            const std::int64_t sent_on = now_; // the gradient does not wait for the update
            work(s, 2, minibatch, used, cause);
            now_ = sent_on;
        }
        message("Gradient", 0, -1, minibatch, version, cause);
        now_ += 2 * run_ns; // the last update ends
    }

    // Moves all of a node's own clock forward.
    void shift_clock(std::size_t trace, std::int64_t ns) {
        for (trace_event& e : traces[trace].events) {
            e.enqueued_ns += ns;
            e.started_ns += ns;
            e.ended_ns += ns;
        }
        for (node_trace& t : traces)
            for (trace_event& e : t.events)
                if (e.kind == trace_kind::message && e.from_node == traces[trace].node)
                    e.sent_ns += ns;
        traces[trace].clock.offset_ns += ns;
    }

    template <class Condition>
    void forget(Condition condition) {
        for (node_trace& t : traces)
            std::erase_if(t.events, condition);
    }

    trace_page page(std::size_t trace) const {
        trace_page p;
        p.events = traces[trace].events;
        return p;
    }

    std::vector<node_trace> traces;
    all_names names;

  private:
    // A message is sent, travels, waits and is handled; its number.
    std::uint64_t message(const char* type, int from, int to, std::uint64_t minibatch,
                          std::uint64_t weights, std::uint64_t cause) {
        trace_event e;
        e.type = type_of(type);
        e.from_node = node_of(from);
        e.from_actor = actor_of(from);
        e.to_actor = actor_of(to);
        e.sequence = ++sequence_;
        e.cause = cause;
        e.cause_node = sender_[cause];
        sender_[e.sequence] = e.from_node;
        e.work = minibatch_id{minibatch};
        e.state = weight_version{weights};
        e.bytes = 1000;
        e.sent_ns = now_ - 500; // before its sender's handler ended
        e.enqueued_ns = e.sent_ns + wire_ns;
        e.started_ns = e.enqueued_ns + mailbox_ns;
        e.ended_ns = now_ = e.started_ns + handler_ns;
        record(to, e);
        return e.sequence;
    }

    // Device work of a stage and the WorkDone that reports it; the number of that.
    std::uint64_t work(int stage, std::uint64_t label, std::uint64_t minibatch,
                       std::uint64_t weights, std::uint64_t cause) {
        trace_event e;
        e.kind = trace_kind::compute;
        e.type = label;
        e.from_node = node_of(stage);
        e.to_actor = actor_of(stage);
        e.sequence = sequence_ + 1; // recorded under the message that reports it
        e.cause_node = node_of(stage);
        e.work = minibatch_id{minibatch};
        e.state = weight_version{weights};
        e.started_ns = now_ + queue_ns;
        e.ended_ns = now_ = e.started_ns + run_ns;
        record(stage, e);
        now_ += 700;
        return message("WorkDone", stage, stage, none, none, cause);
    }

    std::uint64_t pass(const char* type, int from, int to, std::uint64_t label,
                       std::uint64_t minibatch, std::uint64_t used, std::uint64_t cause) {
        const std::uint64_t received =
            message(type, from, to, minibatch, from < 0 ? 0 : used - 1, cause);
        return work(to, label, minibatch, used, received);
    }

    void record(int stage, const trace_event& e) {
        traces[node_of(stage).value() - 1].events.push_back(e);
    }

    int stages_;
    std::int64_t now_ = 1'000'000'000;
    std::uint64_t sequence_ = 0;
    std::map<std::uint64_t, node_id> sender_; // by message
};

} // namespace troupe::inspector
