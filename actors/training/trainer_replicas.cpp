// Replicas that are lost while the run goes on, and others that take their places.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "actors/messages.hpp"
#include "actors/runtime/well_known.hpp"
#include "actors/training/role_options.hpp"
#include "actors/training/run_sentences.hpp"
#include "actors/training/trainer.hpp"

namespace troupe {

namespace {

std::vector<plan_device> devices_in_use(const training_cast& cast, const run_course& course) {
    std::vector<plan_device> used;
    for (std::size_t placement = 0; placement < cast.placements(); ++placement)
        if (!course.has_lost(cast.replica_at(placement)))
            used.push_back(cast.where(placement));
    return used;
}

} // namespace

// Called when these are lost: what is on a node, which may have stopped in order, or one stage that is out of its
// neighbours' reach.
bool trainer::goes_on_without(const std::vector<std::size_t>& placements, const error& why) {
    std::map<std::uint32_t, std::size_t> lost; // by replica, one of its placements
    for (const std::size_t placement : placements) {
        const std::uint32_t replica = cast_.replica_at(placement);
        if (course_.has_lost(replica))
            continue;
        if (told_ != told::started || course_.phase() == run_phase::finished ||
            !can_go_on_without(replica, plan_, cast_))
            return false;
        lost.emplace(replica, placement);
    }
    for (const auto& [replica, placement] : lost)
        lose_replica(placement, why);
    return !placements.empty();
}

// Called also when a newcomer cannot be placed or cannot begin.
void trainer::lose_replica(std::size_t at, const error& why) {
    const std::uint32_t replica = cast_.replica_at(at);
    const std::uint32_t worker = server_worker(plan_, 0, replica);
    const bool was_joining = course_.lose_replica(replica);
    const bool was_expecting = changes_.is_expecting();
    devices_.lose(cast_.where(at).node);
    std::string what;
    std::set<node_id> nodes; // of the replica
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
        const std::size_t placement = *cast_.placement_of(replica, s);
        what += (what.empty() ? "" : ", ") + cast_.describe(placement);
        report_.stages[placement].lost = true;
        unwatch(cast_.all(run_role::stage)[placement]);
        changes_.excuse(cast_.all(run_role::peer)[placement]);
        nodes.insert(cast_.where(placement).node);
    }
    for (const plan_device& used : devices_in_use(cast_, course_))
        nodes.erase(used.node);
    for (const node_id node : nodes)
        unwatch({node, well_known::agent});
    // Nodes that are gone cannot be told; nobody answers.
    for (const auto& [node, actors] : cast_.leave(replica))
        send({node, well_known::agent},
             end_message(options_.run, actors, without_replica(replica)));
    for (const actor_address shard : cast_.all(run_role::shard))
        if (shard) {
            frame_builder<proto::WorkerLost> lost;
            lost.body().setWorker(worker);
            send(shard, std::move(lost));
        }
    changes_.lose(replica, why.message() + "; it carried " + what);
    frame_builder<proto::ReplicaLost> lost;
    lost.body().setReplica(replica);
    send(source_, std::move(lost));
    if (was_joining)
        return carry_out(course_.phase());
    if (was_expecting && !changes_.is_expecting() && course_.phase() == run_phase::connecting)
        return connect();
    go_on(tally_.minibatches().value_or(0));
}

void trainer::minibatches_lost(proto::MinibatchesLost::Reader body, const frame& f) {
    const auto why = f.from() == source_ ? changes_.report(body.getReplica()) : std::nullopt;
    if (!why)
        return reject("the sender is not the data source, or was not asked");
    tell(run_note{note_of_loss(plan_, course_, *why, body.getMinibatches())});
}

// ---- in their places ------------------------------------------------------------------------------------------------

void trainer::node_joined(proto::NodeJoined::Reader body, const frame& f) {
    if (f.from() != actor_address{self().node, well_known::cluster})
        return reject("the sender is not the cluster actor of this node");
    devices_.join(body.getMember());
}

// If the node has stages of this run, the end of its agent tells of the loss, too.
void trainer::node_lost(proto::NodeLost::Reader body, const frame& f) {
    if (f.from() != actor_address{self().node, well_known::cluster})
        return reject("the sender is not the cluster actor of this node");
    devices_.lose(node_id{body.getNode()});
}

// Before an epoch, places the stages of a lost replica anew if there are devices for it.
bool trainer::let_one_join() {
    const auto lost = course_.first_lost();
    if (!lost || plan_.sync.node_servers || course_.stopping())
        return false;
    const std::vector<plan_device> free = devices_.free(devices_in_use(cast_, course_));
    const bool deals = plan_.schedule.deals_stages();
    const auto& dealt = plan_.schedule.table;
    if (free.size() < (deals ? dealt.devices.size() : plan_.stages.size()))
        return false;
    const auto replica = static_cast<std::uint32_t>(*lost);
    course_.join_replica(replica);
    changes_.join(replica);
    std::string where;
    for (std::uint32_t s = 0; s < plan_.stages.size(); ++s) {
        const std::size_t placement = *cast_.placement_of(replica, s);
        report_.stages[placement].lost = false;
        const plan_device& device = free[deals ? dealt.device_of[s] : s];
        where += (where.empty() ? "" : ", ") + where_text(device);
        cast_.move(placement, device);
        for (const std::size_t actor : cast_.actors_of(placement))
            ask_for(actor);
    }
    for (const actor_address shard : cast_.all(run_role::shard))
        if (shard) {
            changes_.expect(shard);
            frame_builder<proto::WorkerJoined> joined;
            joined.body().setWorker(replica);
            send(shard, std::move(joined));
        }
    tell(run_note{"replica " + std::to_string(replica) + " joins anew on " + where});
    return true;
}

// Tells the peers beside the other replicas of its stage to exchange messages with the newcomer's peer from now on.
void trainer::introduce(std::size_t newcomer) {
    const std::vector<actor_address>& peers = cast_.all(run_role::peer);
    if (!peers[newcomer])
        return;
    for (std::size_t placement = 0; placement < cast_.placements(); ++placement) {
        if (placement == newcomer || cast_.stage_at(placement) != cast_.stage_at(newcomer) ||
            course_.has_lost(cast_.replica_at(placement)))
            continue;
        changes_.expect(peers[placement]);
        frame_builder<proto::PeerJoined> joined;
        joined.body().setRank(cast_.replica_at(newcomer));
        write_address(joined.body().initMember(), peers[newcomer]);
        send(peers[placement], std::move(joined));
    }
}

template <class Reader>
void trainer::expected(Reader, const frame& f) {
    if (!changes_.confirm(f.from()))
        return reject("the sender was not asked to expect anybody");
    if (!changes_.is_expecting() && course_.phase() == run_phase::connecting)
        connect();
}

template void trainer::expected(proto::WorkerExpected::Reader, const frame&);
template void trainer::expected(proto::PeerExpected::Reader, const frame&);

} // namespace troupe
