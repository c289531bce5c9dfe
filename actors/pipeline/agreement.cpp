#include "actors/pipeline/agreement.hpp"

#include <algorithm>
#include <array>

#include "actors/messages.hpp"
#include "actors/pipeline/exchanged_agreement.hpp"
#include "actors/pipeline/server_agreement.hpp"
#include "actors/pipeline/summed_agreement.hpp"
#include "actors/runtime/node_runtime.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

void agreement::gradients_complete(weight_version used, std::uint64_t) {
    state().counts.count_lag(state().weights.latest()->version.value() - used.value());
}

namespace {

std::array<std::pair<run_role, actor_address>, 4> by_role(const stage_companions& own) {
    return {std::pair{run_role::reducer, own.reducer},
            {run_role::peer, own.peer},
            {run_role::shard, own.shard},
            {run_role::cache, own.cache}};
}

} // namespace

result<stage_companions> companions_of(const agreement_options& options,
                                       proto::ConnectStage::Reader body, node_id node) {
    stage_companions own{.reducer = read_address(body.getReducer()),
                         .cache = read_address(body.getCache()),
                         .shard = read_address(body.getShard()),
                         .peer = read_address(body.getPeer())};
    for (const auto& [role, address] : by_role(own)) {
        const bool is_due = std::ranges::count(options.companions, role) > 0;
        if (is_due != address.operator bool() || (is_due && address.node != node))
            return error{errc::protocol, is_due
                                             ? "there is no " + std::string{name_of(role)} +
                                                   " beside this stage on its node"
                                             : "this stage has no " + std::string{name_of(role)} +
                                                   " beside it, but is told of one"};
    }
    if (options.sync.averages_weights())
        own.peer = own.reducer;
    return own;
}

result<void> check_run(const stage_companions& own, const node_runtime& node, std::uint64_t run) {
    for (const auto& [role, address] : by_role(own))
        if (address && node.run_of(address).value_or(run) != run)
            return error{errc::protocol, "the " + std::string{name_of(role)} +
                                             " named for this stage is not an actor of its run"};
    return {};
}

std::unique_ptr<agreement> make_agreement(stage_port& stage, const stage_companions& own) {
    if (own.cache)
        return std::make_unique<server_agreement>(stage, own.cache, own.shard);
    if (own.peer)
        return std::make_unique<exchanged_agreement>(stage, own.peer, own.reducer);
    if (own.reducer)
        return std::make_unique<summed_agreement>(stage, own.reducer);
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
