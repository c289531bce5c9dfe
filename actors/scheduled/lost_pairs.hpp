// Pairs of nodes that have lost each other, as actors of a run say, while its leader may reach both: which node goes.
//
// A node that is cut off from several others is told of by itself and by all of them. So the leader gathers what it is told
// for a while, and parts with the node that the most pairs have; of the same number with the one that was named first.
//
// Threads, ownership: a value of the leader.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "schemas/base/error.hpp"
#include "schemas/base/ids.hpp"

namespace troupe::scheduled {

class lost_pairs {
  public:
    struct leaver {
        node_id node, by; // that goes, and one of those that have lost it, or that it has lost
        error why;
    };

    // True: the first that waits to be decided.
    bool add(node_id by, node_id named, error why) {
        told_.push_back({by, named, std::move(why)});
        return told_.size() == 1;
    }

    // The node that goes; none is left when all pairs that are still there have been decided.
    std::optional<leaver> next(const std::function<bool(node_id)>& is_there) {
        std::erase_if(told_, [&](const pair& p) { return !is_there(p.by) || !is_there(p.named); });
        std::optional<leaver> most;
        std::ptrdiff_t pairs = 0;
        for (const pair& p : told_)
            for (const auto& [node, other] : {std::pair{p.named, p.by}, {p.by, p.named}})
                if (const auto n = pairs_of(node); n > pairs) {
                    most = leaver{node, other, p.why};
                    pairs = n;
                }
        if (most)
            std::erase_if(told_, [&](const pair& p) { return has(p, most->node); });
        return most;
    }

  private:
    struct pair {
        node_id by, named;
        error why;
    };
    static bool has(const pair& p, node_id node) { return p.by == node || p.named == node; }
    // Other nodes that it has lost, or that have lost it.
    std::ptrdiff_t pairs_of(node_id node) const {
        std::vector<node_id> others;
        for (const pair& p : told_)
            if (has(p, node))
                others.push_back(p.by == node ? p.named : p.by);
        std::ranges::sort(others);
        return std::ranges::unique(others).begin() - others.begin();
    }

    std::vector<pair> told_;
};

} // namespace troupe::scheduled
