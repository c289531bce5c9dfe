// All nodes of a cluster as an observer sees them: attached to one, the others are learned from it.
//
// Members that cannot be reached are left out from then on, but not a process that is started anew at the same address;
// members that end while attached are taken off the list. Both are told in one line on `notes`. The link is lost when no
// node is left.
//
// Threads: one. Errors: those of observer; errc::protocol for a node that sends an unreadable message.
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

    // The error that ended the last node, when none is left. errc::cancelled if all ended in order.
    error end() const;

    const std::vector<linked_node>& nodes() const noexcept { return nodes_; }
    const linked_node* find(node_id node) const;
    // Returns whether the actor was in its node's last list.
    bool is_living(actor_address actor) const;
    all_names& names() noexcept { return names_; }
    observer& view() noexcept { return view_; }

    result<actor_list> list_actors(node_id node);
    // The lists of all nodes that answer; a node that does not is noted and left out. Fails when no node is left.
    result<std::map<node_id, actor_list>> list_all_actors();
    result<trace_page> read_trace(node_id node, std::uint64_t cursor, const tail_terms& filter);
    // Returns an empty text, or the reason for which the node does not open the tail.
    result<std::string> open_tail(node_id node, std::uint64_t tail, const tail_terms& filter,
                                  std::uint32_t credit);

  private:
    result<void> add(const peer_info& peer);
    result<clock_offset> measure_clock(node_id node);
    // A linked node has an inspector actor. If that is gone, the node is stopping, and ends its actors before its
    // connection: waits for the end of the connection and returns errc::lost.
    error refusal_of(node_id node, const error& failure);
    void note(const std::string& line) { notes_ << speaker_ << ": " << line << '\n' << std::flush; }

    observer& view_;
    std::string speaker_;
    std::ostream& notes_;
    std::vector<linked_node> nodes_; // nodes in the order in which they were found
    all_names names_;                // names, also those of nodes and actors that are gone
    std::map<node_id, std::set<actor_number>> living_;
    std::set<node_id> unreachable_;
    std::optional<error> loss_; // the error of a node that did not end in order
};

// Finds out whether a run is active: there is an actor with the name of a trainer or a stage (schemas/trace.capnp). Other
// actors may just be asking something, as `troupe plan --cluster` does.
class run_watch {
  public:
    // Asks the nodes again after `interval`. Of other runs than `run` it knows nothing if that is not 0.
    run_watch(cluster_link& cluster, duration interval, std::uint64_t run = 0)
        : cluster_{cluster}, interval_{interval}, run_{run} {}

    // Asks the nodes if it is time; lost nodes are left out.
    result<void> look();
    bool is_active() const noexcept { return !runs_.empty() || is_training(); }
    bool is_training() const noexcept { return trainers_ > 0 || !stages_.empty(); }
    std::size_t trainers() const noexcept { return trainers_; }
    const std::set<actor_address>& stages() const noexcept { return stages_; } // stages of all runs
    const std::set<std::uint64_t>& runs() const noexcept { return runs_; }     // of any kind of job

  private:
    cluster_link& cluster_;
    const duration interval_;
    const std::uint64_t run_;
    time_point next_look_;
    std::size_t trainers_ = 0;
    std::set<std::uint64_t> runs_;
    std::set<actor_address> stages_;
};

// Returns whether a page is the last one for now.
bool caught_up(std::uint64_t cursor, const trace_page& page);

// A reader of the nodes' recorded events that pass a filter; each read goes on where the one before ended.
class trace_reader {
  public:
    trace_reader(cluster_link& cluster, tail_terms filter)
        : cluster_{cluster}, filter_{std::move(filter)} {}

    // Calls take(node, page) for all new pages. Nodes that are lost are left out; fails when no node is left.
    result<void> read(const std::function<void(const linked_node&, const trace_page&)>& take);

  private:
    // Bound on the pages of one node in one read, so that no node keeps its reader for ever.
    static constexpr int pages_max = 4096;

    cluster_link& cluster_;
    tail_terms filter_;
    std::map<node_id, std::uint64_t> cursors_;
};

} // namespace troupe::inspector
