// Nodes of a simulator with cluster actors, and what those tell.
#pragma once

#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <set>

#include "actors/cluster/cluster_actor.hpp"
#include "actors/runtime/failure.hpp"
#include "actors/runtime/simulator.hpp"

namespace troupe::test {

// What a subscriber of the cluster actor was told.
struct news_log {
    std::vector<std::string> joined;
    std::vector<std::string> addresses; // of those who joined
    std::vector<std::string> lost;      // "NAME code"
    std::size_t lists = 0;
    std::set<node_id> members; // now, as it was told
    std::set<node_id> ever;    // members at any time
};

class subscriber_actor final : public actor {
  public:
    subscriber_actor(actor_context& context, news_log& log) : actor{context}, log_{log} {
        on<proto::MemberList>(&subscriber_actor::list);
        on<proto::NodeJoined>(&subscriber_actor::joined);
        on<proto::NodeLost>(&subscriber_actor::lost);
    }

  private:
    void on_start() override {
        send({self().node, well_known::cluster}, frame_builder<proto::Subscribe>{});
    }
    void list(proto::MemberList::Reader list, const frame&) {
        ++log_.lists;
        for (const auto member : list.getMembers())
            add(node_id{member.getNode()});
    }
    void joined(proto::NodeJoined::Reader news, const frame&) {
        log_.joined.push_back(news.getMember().getName());
        log_.addresses.push_back(news.getMember().getAddress());
        add(node_id{news.getMember().getNode()});
    }
    void lost(proto::NodeLost::Reader news, const frame&) {
        log_.lost.push_back(std::string{news.getName().cStr()} + " " +
                            std::string{to_string(read_failure(news.getFailure()).code())});
        log_.members.erase(node_id{news.getNode()});
    }
    void add(node_id node) {
        log_.members.insert(node);
        log_.ever.insert(node);
    }

    news_log& log_;
};

struct simulated_cluster {
    std::map<std::string, std::optional<result<void>>> outcome;     // of joining
    std::map<std::string, std::vector<unreached_member>> unreached; // when they joined
    std::map<std::string, news_log> news;
    std::map<std::string, std::vector<std::string>> said; // to people
    simulator sim;

    explicit simulated_cluster(simulator_options options = {}) : sim{std::move(options)} {}

    node_runtime& add(const std::string& name, const std::string& join = {},
                      peer_role role = peer_role::member) {
        return sim.add_node(name, role, [&](node_runtime& node) {
            node.spawn_as<cluster_actor>(
                well_known::cluster, "cluster",
                cluster_options{
                    .role = role,
                    .devices = {{"cpu:0", 1u << 20}},
                    .join = join,
                    .joined =
                        [this, name](const auto& r) {
                            outcome[name] = r ? result<void>{} : result<void>{r.failure()};
                            if (r)
                                unreached[name] = *r;
                        },
                    .log = [this, name](const std::string& s) { said[name].push_back(s); }});
            node.spawn<subscriber_actor>("subscriber", news[name]);
        });
    }
    bool joined(const std::string& name) {
        if (!sim.run_until([&] { return outcome[name].has_value(); }, std::chrono::seconds{30}))
            return false;
        if (!outcome[name]->ok())
            BOOST_TEST_MESSAGE(outcome[name]->failure().message());
        return outcome[name]->ok();
    }
};

} // namespace troupe::test
