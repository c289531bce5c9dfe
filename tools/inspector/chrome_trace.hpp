// A trace for Chrome's and Perfetto's viewers: events of nodes in, slices and arrows out, as a stream.
//
// A node is a process of the viewer. An actor is one of its threads: a slice per handled message. The device work of an
// actor is another thread beside it, because it goes on between messages; the memory that the device held from the system
// after each is a graph, with a point where it changes. An arrow leads from the handler that sent a
// message, or from the device work that it reports, to the slice that handled it.
//
// The rules of Perfetto's importer (its json_trace_parser): slices of a thread do not overlap, so one that would goes to
// a further thread; an arrow's start and end have the same id, name and category and lie inside the slices that they
// connect; the end says "bp":"e", or it would bind to the next slice. An arrow never points backwards in time: where the
// clocks of two nodes do not fit well enough it is left out and counted, like one whose sender is not in the trace.
//
// Pure but for the stream. Unmatched ends of arrows are bounded: past 2^20 of either kind the oldest is given up.
// Errors: the stream's state says whether everything could be written.
// Source: Trace Event Format (Chromium), Perfetto's importer of it.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "tools/inspector/rates.hpp"

namespace troupe::inspector {

// The first bytes of every file.
inline constexpr std::string_view trace_begins = R"({"displayTimeUnit":"ns","traceEvents":[)";

struct chrome_counts {
    std::uint64_t slices = 0;
    std::uint64_t arrows = 0;
    std::uint64_t without_sender =
        0; // arrows left out: the handler that sent the message is not in the trace
    std::uint64_t backwards = 0; // arrows left out: the clocks of their nodes disagree
    std::uint64_t outside = 0;   // events from before the trace begins or after its end
    std::uint64_t lost = 0;      // events that were overwritten before they were read
    std::uint64_t invalid = 0;   // events whose times make no sense
};

class chrome_trace {
  public:
    // `began_ns` on the observer's clock is time 0 of the trace.
    chrome_trace(std::ostream& out, std::int64_t began_ns);

    // All nodes come before the first events: a message needs the clock of its sender.
    void add_node(node_id node, const std::string& name, clock_offset clock);
    // Adds events, in the order in which the node recorded them. Uses the names known so far.
    void add(node_id node, const trace_page& page, const all_names& names);
    // Leaves out events that began later, on the observer's clock: nodes are read one after the other, and a message that
    // one of them handled after another was read would miss its sender.
    void stop_at(std::int64_t ended_ns) { ended_ns_ = ended_ns; }
    // Ends the file. Arrows that still miss their sender are counted. Call once.
    chrome_counts finish();

    std::uint64_t bytes_written() const noexcept { return bytes_; }

  private:
    struct slice {
        std::uint32_t process = 0;
        std::uint32_t thread = 0;
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0; // > start_ns
    };
    struct key {
        std::uint64_t node = 0;
        std::uint64_t number = 0; // number of a message or of an actor

        bool operator==(const key&) const = default;
    };
    struct key_hash {
        std::size_t operator()(const key& k) const noexcept {
            return std::hash<std::uint64_t>{}(k.node * 0x9e3779b97f4a7c15u ^ k.number);
        }
    };
    struct handled {
        slice where;
        key cause; // the message whose handler sent this one; number 0: none
    };
    struct waiting { // an arrow whose start is not known yet
        slice to;
        key from_actor;
        std::int64_t sent_ns = 0; // device work: the time of its start
        bool is_work = false;     // the arrow leads to device work
    };
    // One handler or device track, in as many lanes as keep its slices apart.
    struct track {
        struct lane {
            std::uint32_t thread = 0;
            std::int64_t end_ns = 0; // the next slice begins no earlier
        };
        std::vector<lane> lanes;
    };
    struct process {
        std::uint32_t number = 0;
        std::int64_t offset_ns = 0;
        std::uint32_t threads = 0;
        // Tracks by actor, for its handlers (false) and for its device work (true).
        std::map<std::pair<std::uint64_t, bool>, track> tracks;
        std::map<std::uint64_t, std::uint64_t>
            memory; // latest value shown, of the device that works for an actor
    };

    void write(const std::string& object);
    void add_event(node_id node, process& p, const trace_event& e, const all_names& names);
    void show_memory(process& p, const trace_event& e, const std::string& actor,
                     std::int64_t at_ns);
    slice place(process& p, const trace_event& e, const std::string& actor);
    void add_arrow(key cause, waiting arrow);
    void resolve(const handled& from, const waiting& arrow);
    void draw(const slice& from, std::int64_t sent_ns, const waiting& arrow);

    std::ostream& out_;
    std::int64_t began_ns_;
    std::int64_t ended_ns_ = std::numeric_limits<std::int64_t>::max();
    std::uint64_t bytes_ = 0;
    bool first_ = true;
    chrome_counts counts_;
    std::map<node_id, process> processes_;
    std::unordered_map<key, handled, key_hash> handled_; // by message
    std::deque<key> handled_order_;
    std::unordered_map<key, std::vector<waiting>, key_hash>
        waiting_; // by the message whose handler sent it
    std::deque<key> waiting_order_;
    std::unordered_map<key, std::deque<slice>, key_hash> device_work_; // the latest few by actor
};

} // namespace troupe::inspector
