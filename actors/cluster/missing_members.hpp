// Members that a node should be connected to and is not: it has lost them, or others know them and it does not. Says when to
// try to reach which. A plain value: no actor, no time source, no network.
//
// The wait before an attempt doubles from one to the next, up to a bound. A member is looked for until it is a member again,
// has left, or another process has its name or address, and no longer than a day.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "actors/cluster/membership.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe {

struct search_times {
    duration first = std::chrono::seconds{1};    // from the loss to the first attempt
    duration longest = std::chrono::seconds{30}; // between two attempts
    duration give_up = std::chrono::hours{24};   // from the loss to the end of the search
};

class missing_members {
  public:
    explicit missing_members(search_times times = {}) : times_{times} {}

    enum class cause : std::uint8_t { lost, never_met };

    // A member that is looked for already keeps its times. At most limits::nodes_max are looked for.
    void look_for(const member_info& m, cause why, time_point now);
    bool looks_for(node_id node) const { return missing_.contains(node); }

    // It is a member. So whoever had its name or address before has ended.
    void found(const member_info& m);
    // This process answers at the address: another one that had it before has ended.
    void answered(node_id node, const std::string& address);
    // It has left.
    void forget(node_id node) { missing_.erase(node); }
    // It does not take this node, or not yet. True the first time.
    bool refused(node_id node);
    // A connection to this address has failed. The name of the member that is looked for there, if this node has never met
    // it, the first time; else empty.
    std::string unreachable(const std::string& address);

    // A member to be tried now.
    struct attempt {
        node_id node;
        std::string address;
    };
    std::vector<attempt> due(time_point now);

  private:
    struct search {
        std::string name;
        std::string address;
        time_point next; // attempt
        duration wait{}; // after it
        time_point end;
        bool has_refused = false;
        bool is_said = false; // that it cannot be reached
    };

    search_times times_;
    std::map<node_id, search> missing_;
};

} // namespace troupe
