// Members of one cluster that reach others, but not each other: which pairs they are, and the fewest members that a run does
// without so that all others reach each other. Plain values: no actor, no time source, no network.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/cluster/membership.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe {

// The peers that each member has links to, as it says; one that has not answered is not in it.
using told_peers = std::map<node_id, std::set<node_id>>;

// Two members of which one says that it has no link to the other. The first is earlier in the list that they are of.
using unlinked_pair = std::pair<node_id, node_id>;

// In the order of the list. Runs are left out, as they need no links to each other.
std::vector<unlinked_pair> unlinked_pairs(const std::vector<member_info>& members,
                                          const told_peers& told);

// The links of a cluster, as its members say when they are asked: by the process of a run, or by a command. Members that
// have just joined are about to connect, so all are asked again while a pair is without a link.
class link_survey {
  public:
    static constexpr duration again = std::chrono::milliseconds{100}; // between two questions
    static constexpr duration length = std::chrono::seconds{1};       // of all questions

    // Runs are not asked.
    explicit link_survey(const std::vector<member_info>& members);

    // Adds a member that others know, if it is to be asked and new here.
    void meet(const member_info& m);
    // False if the member is not asked. The last answer counts.
    bool answered(node_id by, std::set<node_id> peers);

    const std::vector<member_info>& asked() const noexcept { return asked_; }
    const told_peers& told() const noexcept { return told_; }
    std::vector<unlinked_pair> apart() const { return unlinked_pairs(asked_, told_); }
    // All have answered, and reach each other.
    bool is_settled() const { return told_.size() == asked_.size() && apart().empty(); }

  private:
    std::vector<member_info> asked_;
    told_peers told_;
};

// The fewest members, in the order of the list, without which no pair is left. Of several choices it is the one with the
// fewest devices, then one of members late in the list. With dozens of pairs it may be more than the fewest, but each one
// that is left out lacks a link to one that is not.
std::vector<node_id> fewest_to_leave(const std::vector<member_info>& members,
                                     const std::vector<unlinked_pair>& pairs);

// "node b (HOST:PORT) and node c (HOST:PORT) do not reach each other". Both are in the list.
std::string unlinked_text(const std::vector<member_info>& members, const unlinked_pair& pair);

// A sentence for each member that a run does without.
std::vector<std::string> left_texts(const std::vector<member_info>& members,
                                    const std::vector<unlinked_pair>& pairs,
                                    const std::vector<node_id>& left);

} // namespace troupe
