#include "actors/pipeline/stage/agreement.hpp"

#include <algorithm>
#include <string_view>

#include "actors/messages.hpp"
#include "actors/pipeline/stage/exchanged_agreement.hpp"
#include "actors/pipeline/stage/server_agreement.hpp"
#include "actors/pipeline/stage/summed_agreement.hpp"
#include "actors/runtime/node_runtime.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

void agreement::gradients_complete(weight_version used, std::uint64_t) {
    state().counts.count_lag(state().weights.latest()->version.value() - used.value());
}

namespace {

stage_companion find(const stage_companions& all, const run_role& role) {
    const auto found = std::ranges::find(all, role, &stage_companion::role);
    return found == all.end() ? stage_companion{role} : *found;
}

result<stage_companions> read_companions(proto::ConnectStage::Reader body) {
    stage_companions all;
    for (const auto named : body.getCompanions()) {
        const std::string_view name{named.getRole().cStr(), named.getRole().size()};
        const auto role = std::ranges::find(companions(), name, &run_role::name);
        if (role == companions().end() || find(all, *role).own)
            return error{errc::protocol, "a stage has no companion '" +
                                             printable(name, limits::name_bytes_max) +
                                             "' beside it, or is told of it twice"};
        stage_companion& companion =
            all.emplace_back(stage_companion{*role, read_address(named.getOwn()), {}});
        for (const auto of_replica : named.getAll())
            companion.by_replica.push_back(read_address(of_replica));
    }
    return all;
}

} // namespace

result<stage_companions> companions_named(const agreement_options& options,
                                          proto::ConnectStage::Reader body, node_id node) {
    auto all = read_companions(body);
    if (!all)
        return all.failure();
    for (const run_role& role : companions()) {
        const actor_address own = find(*all, role).own;
        const bool is_due = std::ranges::count(options.companions, role) > 0;
        const std::string name{role.name};
        if (is_due && (!own || own.node != node))
            return error{errc::protocol, "there is no " + name + " beside this stage on its node"};
        if (!is_due && own)
            return error{errc::protocol,
                         "this stage has no " + name + " beside it, but is told of one"};
    }
    return all;
}

result<void> check_run(const stage_companions& all, const node_runtime& node, std::uint64_t run) {
    for (const stage_companion& c : all)
        if (c.own && node.run_of(c.own).value_or(run) != run)
            return error{errc::protocol, "the " + std::string{c.role.name} +
                                             " named for this stage is not an actor of its run"};
    return {};
}

std::unique_ptr<agreement> make_agreement(stage_port& stage, const stage_companions& all) {
    const stage_companion cache = find(all, run_role::cache);
    if (cache.own)
        return std::make_unique<server_agreement>(stage, cache.own, find(all, run_role::shard));
    const stage_companion reducer = find(all, run_role::reducer);
    if (stage.options().agreement.sync.averages_weights() && reducer.own)
        return std::make_unique<exchanged_agreement>(stage, reducer);
    const stage_companion peer = find(all, run_role::peer);
    if (peer.own)
        return std::make_unique<exchanged_agreement>(stage, peer);
    if (reducer.own)
        return std::make_unique<summed_agreement>(stage, reducer);
    return std::make_unique<agreement>(stage);
}

std::optional<noticed_loss> loss_among(const std::vector<actor_address>& by_replica,
                                       actor_address who, const error& why) {
    const auto found = std::ranges::find(by_replica, who);
    if (found == by_replica.end())
        return std::nullopt;
    return noticed_loss{why, static_cast<std::uint32_t>(found - by_replica.begin())};
}

result<void> join_reduction(stage_port& stage, actor_address reducer,
                            const std::vector<actor_address>& by_replica) {
    if (by_replica.size() != stage.options().at.replica.replicas)
        return error{errc::protocol, "there is not one reducer for each replica"};
    stage.watch(reducer);
    frame_builder<proto::JoinReduction> join;
    join.body().setRank(stage.options().at.replica.replica);
    auto members = join.body().initMembers(static_cast<unsigned>(by_replica.size()));
    for (unsigned r = 0; r < members.size(); ++r)
        write_address(members[r], by_replica[r]);
    stage.send(reducer, std::move(join));
    for (const actor_address other : by_replica)
        stage.watch(other);
    return {};
}

} // namespace troupe
