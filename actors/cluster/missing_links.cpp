#include "actors/cluster/missing_links.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace troupe {

namespace {

// The search tries, for the member with the most missing links, to do without it, and without all those that it does not
// reach. The first choice found does without one member after the other.
class search_for_fewest {
  public:
    explicit search_for_fewest(std::vector<std::size_t> devices)
        : devices_{std::move(devices)}, apart_(devices_.size()) {}

    void add(std::size_t a, std::size_t b) {
        apart_[a].insert(b);
        apart_[b].insert(a);
    }

    std::set<std::size_t> run() {
        look({}, 0);
        return with_those_back_that_reach_all();
    }

  private:
    struct choice {
        std::set<std::size_t> left;
        std::size_t devices;
    };
    // Links looked at after the first choice, in a fraction of a second.
    static constexpr std::uint64_t work_max = 3'000'000;

    bool is_better(const std::set<std::size_t>& left, std::size_t devices) const {
        return !best_ ||
               std::pair{left.size(), devices} < std::pair{best_->left.size(), best_->devices};
    }

    // The choice found first may leave some out that lack links to others left out alone.
    std::set<std::size_t> with_those_back_that_reach_all() const {
        std::set<std::size_t> left = best_->left;
        for (const std::size_t member : best_->left)
            if (std::ranges::includes(left, apart_[member]))
                left.erase(member);
        return left;
    }

    std::vector<std::size_t> missed_by(std::size_t member, const std::set<std::size_t>& left) {
        work_ += apart_[member].size() + 1;
        std::vector<std::size_t> missed;
        std::ranges::copy_if(apart_[member], std::back_inserter(missed),
                             [&](std::size_t other) { return !left.contains(other); });
        return missed;
    }

    void look(std::set<std::size_t> left, std::size_t devices) {
        if (!is_better(left, devices) || (best_ && work_ > work_max))
            return;
        std::size_t chosen = 0;
        std::vector<std::size_t> most;
        for (std::size_t m = 0; m < apart_.size(); ++m)
            if (!left.contains(m))
                if (auto missed = missed_by(m, left);
                    !missed.empty() && missed.size() >= most.size()) {
                    chosen = m;
                    most = std::move(missed);
                }
        if (most.empty()) {
            best_ = {std::move(left), devices};
            return;
        }
        auto without = left;
        without.insert(chosen);
        look(std::move(without), devices + devices_[chosen]);
        for (const std::size_t other : most)
            devices += devices_[other];
        left.insert(most.begin(), most.end());
        look(std::move(left), devices);
    }

    const std::vector<std::size_t> devices_; // their number, of each member
    std::vector<std::set<std::size_t>> apart_;
    std::optional<choice> best_;
    std::uint64_t work_ = 0;
};

const member_info& member_of(const std::vector<member_info>& members, node_id node) {
    return *std::ranges::find(members, node, &member_info::node);
}

std::string with_address(const member_info& m) {
    return "node " + m.name + " (" + m.address + ")";
}

} // namespace

std::vector<unlinked_pair> unlinked_pairs(const std::vector<member_info>& members,
                                          const told_peers& told) {
    const auto lacks = [&](const member_info& one, const member_info& other) {
        const auto peers = told.find(one.node);
        return peers != told.end() && !peers->second.contains(other.node);
    };
    std::vector<unlinked_pair> pairs;
    for (auto one = members.begin(); one != members.end(); ++one)
        for (auto other = one + 1; other != members.end(); ++other)
            if (one->role == peer_role::member && other->role == peer_role::member &&
                (lacks(*one, *other) || lacks(*other, *one)))
                pairs.emplace_back(one->node, other->node);
    return pairs;
}

link_survey::link_survey(const std::vector<member_info>& members) {
    for (const member_info& m : members)
        meet(m);
}

void link_survey::meet(const member_info& m) {
    if (m.role == peer_role::member &&
        std::ranges::find(asked_, m.node, &member_info::node) == asked_.end())
        asked_.push_back(m);
}

bool link_survey::answered(node_id by, std::set<node_id> peers) {
    if (std::ranges::find(asked_, by, &member_info::node) == asked_.end())
        return false;
    told_[by] = std::move(peers);
    return true;
}

std::vector<node_id> fewest_to_leave(const std::vector<member_info>& members,
                                     const std::vector<unlinked_pair>& pairs) {
    std::vector<std::size_t> devices;
    for (const member_info& m : members)
        devices.push_back(m.devices.size());
    search_for_fewest search{std::move(devices)};
    const auto place_of = [&](node_id node) {
        return static_cast<std::size_t>(&member_of(members, node) - members.data());
    };
    for (const auto& [one, other] : pairs)
        search.add(place_of(one), place_of(other));
    std::vector<node_id> left;
    for (const std::size_t place : search.run())
        left.push_back(members[place].node);
    return left;
}

std::string unlinked_text(const std::vector<member_info>& members, const unlinked_pair& pair) {
    return with_address(member_of(members, pair.first)) + " and " +
           with_address(member_of(members, pair.second)) + " do not reach each other";
}

std::vector<std::string> left_texts(const std::vector<member_info>& members,
                                    const std::vector<unlinked_pair>& pairs,
                                    const std::vector<node_id>& left) {
    const auto is_left = [&](node_id node) { return std::ranges::find(left, node) != left.end(); };
    std::vector<std::string> texts;
    for (const node_id node : left) {
        std::vector<unlinked_pair> its; // with members that the run uses
        for (const unlinked_pair& pair : pairs)
            if ((pair.first == node && !is_left(pair.second)) ||
                (pair.second == node && !is_left(pair.first)))
                its.push_back(pair);
        const std::string name = member_of(members, node).name;
        const std::string more = its.size() == 1 ? ""
                                                 : ", nor do node " + name + " and " +
                                                       std::to_string(its.size() - 1) + " more";
        texts.push_back(unlinked_text(members, its[0]) + more +
                        ", for a reason that their logs name; the run does without node " + name +
                        "; give each a --listen address that the others reach");
    }
    return texts;
}

} // namespace troupe
