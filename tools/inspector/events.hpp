// The reports of nodes as plain values, and their decoding from messages.
//
// Text is as it was sent, only bounded; printable() makes it fit for a terminal. Times are nanoseconds on the clock of
// the node that reported them, except sent_ns, which is on the sender's.
//
// Errors: decoding returns errc::protocol for more elements than the protocol allows. It may throw kj::Exception where a
// message is malformed, as reading any frame from outside may.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/runtime/fact_board.hpp"
#include "actors/runtime/milestone_board.hpp"
#include "actors/runtime/trace.hpp"
#include "actors/runtime/worker_board.hpp"
#include "schemas/base/error.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/trace.capnp.h"

namespace troupe::inspector {

inline constexpr std::uint32_t page_events_max = limits::trace_batch_events_max;
inline constexpr std::size_t listed_actors_max = 1u << 16;
inline constexpr std::size_t listed_pools_max = 1u << 12;
inline constexpr std::size_t listed_workers_max = 1u << 12; // of one actor
inline constexpr std::size_t late_counts_max = worker_board::late_max + 1;
inline constexpr std::size_t body_bytes_max = limits::tail_body_bytes_max;

// The state of a worker as its server knows it.
struct worker_row {
    std::uint32_t worker = 0;
    std::uint64_t clock = 0;
    std::vector<std::uint64_t>
        late; // updates that were 0, 1, ... versions late; at most late_counts_max
    std::optional<std::uint32_t> waits_for;
};

struct actor_row {
    actor_number number;
    std::string name;
    std::uint64_t mailbox_depth = 0;
    std::uint64_t messages_handled = 0;
    std::uint64_t handler_ns = 0;
    std::uint64_t device_ns = 0;
    bool paused = false;
    std::vector<worker_row> workers; // workers that it serves
    std::uint64_t run = 0;           // 0: the actor belongs to no run
    std::vector<fact_board::fact> facts;
    std::vector<milestone_board::milestone> milestones; // the last of its run
};

struct pool_row {
    std::string name;
    std::uint64_t bytes_in_use = 0;
    std::uint64_t bytes_in_use_peak = 0;
    std::uint64_t bytes_reserved = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t system_allocations = 0;
};

struct actor_list {
    node_id node;
    std::string node_name;
    std::int64_t now_ns = 0;
    std::vector<actor_row> actors;
    std::vector<pool_row> pools;
    std::map<node_id, std::string> links; // by peer, the link over which frames go to it
};

// One answer to ReadTrace.
struct trace_page {
    std::int64_t now_ns = 0;
    std::uint64_t next = 0;
    std::uint64_t older = 0;   // events overwritten before this reader came
    std::uint64_t lost = 0;    // events overwritten before they were read
    std::uint64_t invalid = 0; // events left out here, as their times make no sense
    std::vector<trace_event> events;
    std::vector<std::string> labels;
    std::map<std::uint64_t, std::string> types;
    std::map<actor_number, std::string> actors;
};

// One message that a tail shows.
struct tail_message {
    std::uint64_t tail = 0;
    trace_event event;
    std::string type;
    std::string actor;
    std::string body;
    std::string tensors;
    std::uint64_t dropped = 0; // messages dropped before this one
};

result<actor_list> decode(proto::ActorList::Reader list);
result<trace_page> decode(proto::TraceBatch::Reader batch);
result<tail_message> decode(proto::TailEvent::Reader message);

// The names that the events of one node refer to, gathered over its pages.
struct node_names {
    std::string name;
    std::map<actor_number, std::string> actors;
    std::vector<std::string> labels;
    std::map<std::uint64_t, std::string> types;

    std::string
    type_of(const trace_event& event) const; // "Activation", "forward"; "type 0x1f3a" if unknown
    std::string name_of(actor_number actor) const; // "stage 0"; "actor 17" if unknown
};

void learn(node_names& names, const actor_list& list);
void learn(node_names& names, const trace_page& page);
void learn(node_names& names, const tail_message& message); // learns its receiver

using all_names = std::map<node_id, node_names>;

// The printable name of an actor: "a/stage 0".
std::string name_of(const all_names& names, node_id node, actor_number actor);

// Whether the run is one of a program of scheduled parameters, whose pieces of work are phases: it has schedulers.
bool has_phases(const all_names& names, std::uint64_t run);

} // namespace troupe::inspector
