#include "actors/training/stage_connection.hpp"

#include <algorithm>
#include <iterator>

#include "actors/messages.hpp"
#include "actors/update_counts.hpp"

namespace troupe {

namespace {

unsigned count(const auto& list) {
    return static_cast<unsigned>(list.size());
}

void write_addresses(capnp::List<proto::ActorAddress>::Builder to,
                     const std::vector<actor_address>& from) {
    for (unsigned i = 0; i < to.size(); ++i)
        write_address(to[i], from[i]);
}

// The stages of a neighbour that a replica is connected to: that of its own number, or all if stages differ in replicas.
std::vector<actor_address> neighbours(const placed_run& run, std::size_t stage,
                                      std::uint32_t replica) {
    std::vector<actor_address> all = run.cast.replicas_of(stage, run_role::stage);
    return run.planned.stage_replicas.empty() ? std::vector{all[replica]} : all;
}

// The actors of a role beside a stage's replicas, by replica; those of lost ones were not told to expect a joining one.
std::vector<actor_address> companions_of(const placed_run& run, std::uint32_t stage,
                                         const run_role& role) {
    std::vector<actor_address> all = run.cast.replicas_of(stage, role);
    for (std::uint32_t r = 0; r < all.size(); ++r)
        if (run.course.has_lost(r))
            all[r] = {};
    return all;
}

void write_companions(proto::ConnectStage::Builder to, const placed_run& run,
                      std::size_t placement) {
    const std::uint32_t stage = run.cast.stage_at(placement);
    std::vector<run_role> roles;
    std::ranges::copy_if(companions(), std::back_inserter(roles), [&](const run_role& role) {
        return !run.cast.replicas_of(stage, role).empty();
    });
    auto list = to.initCompanions(count(roles));
    for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setRole(std::string{roles[i].name});
        write_address(list[i].initOwn(), run.cast.all(roles[i])[placement]);
        const auto all = companions_of(run, stage, roles[i]);
        write_addresses(list[i].initAll(count(all)), all);
    }
}

// Returns whether that stage of the same replica is on the same device; false if stages differ in replicas.
bool is_colocated(const placed_run& run, std::size_t placement, std::uint32_t stage) {
    if (!run.planned.stage_replicas.empty())
        return false;
    const auto other = run.cast.placement_of(run.cast.replica_at(placement), stage);
    return other && run.cast.where(*other) == run.cast.where(placement);
}

} // namespace

data_source_options source_options(const placed_run& run, proto::App::Reader app) {
    const plan& p = run.planned;
    data_source_options source;
    source.in_flight = p.schedule.in_flight[0];
    source.stages = static_cast<std::uint32_t>(p.stages.size());
    source.shape = run.course.shape();
    source.microbatches = p.shape.microbatches;
    source.ignored_label = ignored_by(app.getModel().getLoss());
    source.seed = app.getTrain().getSeed();
    source.shuffle = app.getTrain().getShuffle();
    source.sync = p.sync;
    source.first_stages = run.cast.replicas_of(0, run_role::stage);
    source.last_stages = run.cast.replicas_of(p.stages.size() - 1, run_role::stage);
    return source;
}

frame_builder<proto::ConnectStage> connection_of(const placed_run& run, std::size_t placement,
                                                 actor_address source) {
    const training_cast& cast = run.cast;
    const std::uint32_t stage = cast.stage_at(placement);
    const std::uint32_t replica = cast.replica_at(placement);
    std::vector<actor_address> previous{source}, next;
    if (stage > 0)
        previous = neighbours(run, stage - 1, replica);
    if (stage + 1 < run.planned.stages.size())
        next = neighbours(run, stage + 1, replica);
    frame_builder<proto::ConnectStage> request;
    auto body = request.body();
    write_addresses(body.initPrevious(count(previous)), previous);
    write_addresses(body.initNext(count(next)), next);
    write_address(body.initSource(), source);
    write_companions(body, run, placement);
    body.setPreviousIsColocated(stage > 0 && is_colocated(run, placement, stage - 1));
    body.setNextIsColocated(is_colocated(run, placement, stage + 1));
    body.setJoins(run.course.is_joining(replica));
    return request;
}

void write_restored(frame_builder<proto::ConnectStage>& to, const weights& from) {
    to.body().setRestored(true);
    to.body().setWeightVersion(from.version.value());
    write_counts(to.body().initUpdates(count(from.updates)), from.updates);
    for (tensor& t : from.tensors())
        to.attach(std::move(t));
}

} // namespace troupe
