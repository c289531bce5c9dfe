// All nodes of a cluster as an observer sees them: attached to one, the others are learned from it.
//
// Members that cannot be reached are left out from then on, but not a process that is started anew at the same address;
// members that end while attached are taken off the list. Both are told in one line on `notes`. The link is lost when no
// node is left.
//
// Threads: one. Errors: as observer; errc::protocol for a node that sends what cannot be read.
#pragma once

#include <ostream>
#include <set>

#include "actors/runtime/well_known.hpp"
#include "tools/inspector/observer.hpp"
#include "tools/inspector/rates.hpp"
#include "tools/inspector/terms.hpp"

namespace troupe::inspector {

struct linked_node {
    node_id id;
    std::string name;
    std::string address;
    clock_offset clock;
};

class cluster_link {
  public:
    // Every note on `notes` begins with `speaker`.
    cluster_link(observer& view, std::string speaker, std::ostream& notes)
        : view_{view}, speaker_{std::move(speaker)}, notes_{notes} {}

    result<void> attach(const std::string& address);

    // Connects to members that are new. Errors only when no node is left.
    result<void> refresh();

    // Takes the nodes that have ended off the list. True if any is left.
    bool drop_departed();

    // With no node left: what ended the last one. errc::cancelled if all ended in order.
    error end() const;

    const std::vector<linked_node>& nodes() const noexcept { return nodes_; }
    const linked_node* find(node_id node) const;
    // Whether it was in its node's last list.
    bool is_living(actor_address actor) const;
    all_names& names() noexcept { return names_; }
    observer& view() noexcept { return view_; }

    result<actor_list> list_actors(node_id node);
    // Of all nodes that answer; one that does not is noted and left out. Errors when no node is left.
    result<std::map<node_id, actor_list>> list_all_actors();
    result<trace_page> read_trace(node_id node, std::uint64_t cursor, const tail_terms& filter);
    // Empty, or why the node does not open the tail.
    result<std::string> open_tail(node_id node, std::uint64_t tail, const tail_terms& filter,
                                  std::uint32_t credit);

  private:
    result<void> add(const peer_info& peer);
    result<clock_offset> measure_clock(node_id node);
    // A node that is linked has an inspector. Where there is none any more the node is stopping, its actors before its
    // connection: waits for the end of that, and says errc::lost.
    error refusal_of(node_id node, const error& failure);
    void note(const std::string& line) { notes_ << speaker_ << ": " << line << '\n' << std::flush; }

    observer& view_;
    std::string speaker_;
    std::ostream& notes_;
    std::vector<linked_node> nodes_; // in the order in which they were found
    all_names names_;                // also of nodes and actors that are gone
    std::map<node_id, std::set<actor_number>> living_;
    std::set<node_id> unreachable_;
    std::optional<error> loss_; // of a node that did not end in order
};

// Whether a run is going on: while there is a trainer or a stage, which go by these names (schemas/trace.capnp). Other
// actors may ask something, as `troupe plan --cluster` does.
class run_watch {
  public:
    // The nodes are asked again after `interval`.
    run_watch(cluster_link& cluster, duration interval) : cluster_{cluster}, interval_{interval} {}

    // Nodes that are lost are left out.
    result<void> look();
    bool is_active() const noexcept { return trainers_ > 0 || !stages_.empty(); }
    std::size_t trainers() const noexcept { return trainers_; }
    const std::set<actor_address>& stages() const noexcept { return stages_; } // of all runs

  private:
    cluster_link& cluster_;
    const duration interval_;
    time_point next_look_;
    std::size_t trainers_ = 0;
    std::set<actor_address> stages_;
};

// Whether a page was the last one there is for now.
bool caught_up(std::uint64_t cursor, const trace_page& page);

// What the nodes recorded and a filter lets pass, read on from where it was left.
class trace_reader {
  public:
    trace_reader(cluster_link& cluster, tail_terms filter)
        : cluster_{cluster}, filter_{std::move(filter)} {}

    // Calls take(node, page) for all that is new. Nodes that are lost are left out; an error when none is left.
    result<void> read(const std::function<void(const linked_node&, const trace_page&)>& take);

  private:
    static constexpr int pages_max =
        4096; // of one node in one read: a node must not keep its reader for ever

    cluster_link& cluster_;
    tail_terms filter_;
    std::map<node_id, std::uint64_t> cursors_;
};

} // namespace troupe::inspector
