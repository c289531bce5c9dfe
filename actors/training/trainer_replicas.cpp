// Replicas that are lost while the run goes on, and others that take their places.
#include <algorithm>
#include <utility>

#include "actors/messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "actors/training/role_options.hpp"
#include "actors/training/trainer.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe {

std::uint32_t trainer::replicas_left() const {
    std::uint32_t left = 0;
    for (std::uint32_t r = 0; r < plan_.replicas; ++r)
        left += course_.has_lost(r) ? 0 : 1;
    return left;
}

// A replica cannot be lost if it is the first one, which evaluates, or has a shard, whose weights are nowhere else. With
// several stages and servers of nodes, no stage can leave its node's server alone.
bool trainer::may_lose(std::size_t placement) const {
    bool has_shard = false;
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s)
        has_shard = has_shard || shards()[*placement_of(replica_at(placement), s)];
    return told_ == told::started && course_.phase() != run_phase::finished &&
           plan_.sync.bears_loss() && replica_at(placement) > 0 && !has_shard &&
           (!plan_.sync.node_servers || plan_.stages.size() == 1);
}

bool trainer::has_other_shards(std::size_t placement) const {
    for (std::size_t other = 0; other < cast_.placements(); ++other)
        if (other != placement && stage_at(other) == stage_at(placement) && shards()[other])
            return true;
    return false;
}

// Called when one stage is out of its neighbours' reach.
bool trainer::goes_on_without(std::size_t placement, const error& why) {
    if (course_.has_lost(replica_at(placement)))
        return true;
    if (why.code() != errc::lost || plan_.sync.node_servers || !may_lose(placement))
        return false;
    lost_nodes_.insert(device_at(placement).node); // its devices take no lost replica's place
    lose_replica(replica_at(placement), why);
    return true;
}

bool trainer::goes_on_without_node(actor_address who, const error& why) {
    std::set<std::uint32_t> replicas;
    bool had_others = false; // has stages of replicas that are lost already
    for (std::size_t placement = 0; placement < stages().size(); ++placement) {
        if (device_at(placement).node != who.node)
            continue;
        if (course_.has_lost(replica_at(placement))) {
            had_others = true;
            continue;
        }
        if (why.code() != errc::lost || !may_lose(placement))
            return false;
        replicas.insert(replica_at(placement));
    }
    if (replicas.empty() && !had_others)
        return false;
    lost_nodes_.insert(who.node);
    for (const std::uint32_t replica : replicas)
        lose_replica(replica, why);
    return true;
}

void trainer::lose_replica(std::uint32_t replica, const error& why) {
    std::string what;
    std::set<node_id> nodes; // nodes of the replica
    const std::uint32_t worker = server_worker(plan_, 0, replica);
    const bool was_joining = course_.lose_replica(replica);
    const bool was_expecting = !expecting_.empty();
    std::erase(joined_, replica);
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
        const std::size_t placement = *placement_of(replica, s);
        what += (what.empty() ? "" : ", ") + name_of_stage(placement);
        report_.stages[placement].lost = true;
        unwatch(stages()[placement]);
        expecting_.erase(peers()[placement]);
        nodes.insert(device_at(placement).node);
    }
    for (const node_id node : nodes) {
        const auto is_used = [&](std::size_t placement) {
            return device_at(placement).node == node && !course_.has_lost(replica_at(placement));
        };
        bool used = false;
        for (std::size_t placement = 0; placement < cast_.placements(); ++placement)
            used = used || is_used(placement);
        if (!used)
            unwatch({node, well_known::agent});
    }
    end_actors(cast_.leave(replica), replica);
    for (const actor_address shard : shards())
        if (shard) {
            frame_builder<proto::WorkerLost> lost;
            lost.body().setWorker(worker);
            send(shard, std::move(lost));
        }
    lost_.emplace_back(replica, why.message() + "; it carried " + what);
    frame_builder<proto::ReplicaLost> lost;
    lost.body().setReplica(replica);
    send(source_, std::move(lost));
    if (was_joining)
        return carry_out(course_.phase());
    if (was_expecting && expecting_.empty() && course_.phase() == run_phase::connecting)
        return connect();
    go_on(minibatches_of_epoch_.value_or(0));
}

void trainer::minibatches_lost(proto::MinibatchesLost::Reader body, const frame& f) {
    const auto lost =
        std::ranges::find(lost_, body.getReplica(), &std::pair<std::uint32_t, std::string>::first);
    if (f.from() != source_ || lost == lost_.end())
        return reject("the sender is not the data source, or was not asked");
    const std::uint64_t minibatches = body.getMinibatches();
    tell(run_note{
        lost->second + "; the run goes on with " + std::to_string(replicas_left()) + " of " +
        std::to_string(plan_.replicas) + " replicas" +
        (minibatches == 0 ? ""
                          : "; " + counted(minibatches, "minibatch", "minibatches") +
                                " that it had will not be trained on in this epoch") +
        (plan_.sync.accrues() ? "; gradients that it had summed up and not pushed are lost" : "")});
    lost_.erase(lost);
}

// ---- in their places ------------------------------------------------------------------------------------------------

void trainer::node_joined(proto::NodeJoined::Reader body, const frame& f) {
    if (f.from() != actor_address{self().node, well_known::cluster})
        return reject("the sender is not the cluster actor of this node");
    const auto member = body.getMember();
    for (const auto device : member.getDevices())
        options_.devices.push_back({.node = node_id{member.getNode()},
                                    .node_name = member.getName().cStr(),
                                    .device = device.getName().cStr()});
}

// If the node has stages of this run, the end of its agent tells of the loss, too.
void trainer::node_lost(proto::NodeLost::Reader body, const frame& f) {
    if (f.from() != actor_address{self().node, well_known::cluster})
        return reject("the sender is not the cluster actor of this node");
    lost_nodes_.insert(node_id{body.getNode()});
}

// The devices that no replica uses, on nodes that are not lost.
std::vector<plan_device> trainer::free_devices() const {
    std::vector<plan_device> free;
    for (const plan_device& d : options_.devices) {
        bool used = lost_nodes_.contains(d.node);
        for (std::size_t placement = 0; placement < cast_.placements(); ++placement)
            used = used || (!course_.has_lost(replica_at(placement)) &&
                            device_at(placement).node == d.node &&
                            device_at(placement).device == d.device); // ignores slow_down
        if (!used)
            free.push_back(d);
    }
    return free;
}

// Called when the newcomer cannot be placed or cannot begin: the run goes on without it.
void trainer::give_up_newcomer(std::size_t placement, const error& why) {
    lost_nodes_.insert(device_at(placement).node);
    lose_replica(replica_at(placement), why);
}

// Before an epoch, places the stages of a lost replica anew if there are devices for it.
bool trainer::let_one_join() {
    if (plan_.sync.node_servers || course_.stopping())
        return false;
    std::uint32_t replica = 0;
    while (replica < plan_.replicas && !course_.has_lost(replica))
        ++replica;
    const std::vector<plan_device> free = free_devices();
    if (replica == plan_.replicas || free.size() < plan_.stages.size())
        return false;
    course_.join_replica(replica);
    joined_.push_back(replica);
    std::string where;
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
        const std::size_t placement = *placement_of(replica, s);
        plan_.stages[s].where[replica] = free[s];
        report_.stages[placement].lost = false;
        where += (where.empty() ? "" : ", ") + where_text(free[s]);
        cast_.move(placement, free[s]);
        for (const std::size_t actor : cast_.actors_of(placement))
            ask_for(actor);
    }
    for (const actor_address shard : shards())
        if (shard) {
            expecting_.insert(shard);
            frame_builder<proto::WorkerJoined> joined;
            joined.body().setWorker(replica);
            send(shard, std::move(joined));
        }
    tell(run_note{"replica " + std::to_string(replica) + " joins anew on " + where});
    return true;
}

// Tells the peers beside the other replicas of its stage to exchange messages with the newcomer's peer from now on.
void trainer::introduce(std::size_t newcomer) {
    if (!peers()[newcomer])
        return;
    for (std::size_t placement = 0; placement < cast_.placements(); ++placement) {
        if (placement == newcomer || stage_at(placement) != stage_at(newcomer) ||
            course_.has_lost(replica_at(placement)))
            continue;
        expecting_.insert(peers()[placement]);
        frame_builder<proto::PeerJoined> joined;
        joined.body().setRank(replica_at(newcomer));
        write_address(joined.body().initMember(), peers()[newcomer]);
        send(peers()[placement], std::move(joined));
    }
}

void trainer::worker_expected(proto::WorkerExpected::Reader, const frame& f) {
    take_expected(f);
}

void trainer::peer_expected(proto::PeerExpected::Reader, const frame& f) {
    take_expected(f);
}

void trainer::take_expected(const frame& f) {
    const auto asked = expecting_.find(f.from());
    if (asked == expecting_.end())
        return reject("the sender was not asked to expect anybody");
    expecting_.erase(asked);
    if (expecting_.empty() && course_.phase() == run_phase::connecting)
        connect();
}

} // namespace troupe
