#include "actors/device/node_agent.hpp"

#include <capnp/message.h>

#include <algorithm>
#include <utility>

#include "actors/messages.hpp"
#include "actors/plan/value_ranges.hpp"
#include "kernels/graph/profile.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

node_agent::node_agent(actor_context& context, node_agent_options options)
    : actor{context}, options_{std::move(options)} {
    on<proto::PlaceStage>(&node_agent::place);
    on<proto::ProfileModel>(&node_agent::profile);
    on<proto::WorkDone>(&node_agent::work_done);
    on<proto::DropReplica>(&node_agent::drop_replica);
    on<proto::Release>(&node_agent::release);
}

result<std::shared_ptr<device>> node_agent::find_device(const std::string& name) const {
    for (const auto& d : options_.devices) {
        if (d->name() != name)
            continue;
        if (const auto why = d->lost())
            return error{errc::usage,
                         "node " + runtime().options().name + " has lost its device '" + name +
                             "', start it again or leave the device out: " + why->message()};
        return d;
    }
    return error{errc::usage, "node " + runtime().options().name + " has no device '" + name + "'"};
}

namespace {

// " of replica 1", where there are several.
std::string replica_text(proto::PlaceStage::Reader body) {
    return body.getReplicas() > 1 ? " of replica " + std::to_string(body.getReplica())
                                  : std::string{};
}

} // namespace

void node_agent::place(proto::PlaceStage::Reader body, const frame& f) {
    const actor_address trainer = f.from();
    auto stage = spawn_stage(body, trainer);
    if (!stage)
        return refuse(trainer, body.getRun(), body.getReplica(), body.getStage(), stage.failure());
    hosted_run& run = runs_[body.getRun()];
    run.trainer = trainer;
    run.stages[{body.getReplica(), body.getStage()}] = *stage;
    run.name = name_of(trainer.node);
    log(run.name + " has placed stage " + std::to_string(body.getStage()) + " of " +
        std::to_string(body.getStages()) + replica_text(body) + " on " + body.getDevice().cStr());
    watch(trainer);
    frame_builder<proto::StagePlaced> placed;
    placed.body().setRun(body.getRun());
    placed.body().setStage(body.getStage());
    placed.body().setReplica(body.getReplica());
    write_address(placed.body().initAddress(), stage->stage);
    write_address(placed.body().initReducer(), stage->reducer);
    write_address(placed.body().initShard(), stage->shard);
    write_address(placed.body().initPeer(), stage->peer);
    send(trainer, std::move(placed));
}

namespace {

result<void> check_stage_replicas(proto::PlaceStage::Reader body) {
    const auto all = body.getStageReplicas();
    bool possible = all.size() == 0 ||
                    (all.size() == body.getStages() && all[body.getStage()] == body.getReplicas());
    for (const std::uint32_t replicas : all)
        possible = possible && replicas > 0 && replicas <= limits::replicas_max;
    return possible ? result<void>{}
                    : error{errc::protocol, "the stages cannot have so many replicas"};
}

} // namespace

// Why this stage cannot be taken on, before anything is made of it.
result<void> node_agent::check_placement(proto::PlaceStage::Reader body,
                                         actor_address trainer) const {
    if (body.getStages() == 0 || body.getStages() > limits::stages_max ||
        body.getStage() >= body.getStages())
        return error{errc::protocol, "there is no stage " + std::to_string(body.getStage()) +
                                         " of " + std::to_string(body.getStages())};
    if (body.getReplicas() == 0 || body.getReplicas() > limits::replicas_max ||
        body.getReplica() >= body.getReplicas())
        return error{errc::protocol, "there is no replica " + std::to_string(body.getReplica()) +
                                         " of " + std::to_string(body.getReplicas())};
    if (auto possible = check_stage_replicas(body); !possible)
        return possible.failure();
    if (body.getWorkers() == 0 || body.getWorkers() > limits::replicas_max ||
        body.getWorker() >= body.getWorkers() || body.getMembers() == 0 ||
        body.getMembers() > body.getReplicas())
        return error{errc::protocol, "there is no worker " + std::to_string(body.getWorker()) +
                                         " of " + std::to_string(body.getWorkers())};
    if (auto fits = check_ranges(capnp::toDynamic(body.getSync())); !fits)
        return fits.failure().in("sync");
    if (!(body.getSlowDown() >= 1 && body.getSlowDown() <= limits::slow_down_max))
        return error{errc::protocol, "a device cannot be slowed down " +
                                         std::to_string(body.getSlowDown()) + " times"};
    if (!is_known(body.getSchedule()))
        return error{errc::protocol,
                     "node " + runtime().options().name + " does not know this schedule"};
    if (auto fits = check_ranges(capnp::toDynamic(body.getTrain())); !fits)
        return fits.failure().in("train");
    std::size_t hosted = 0;
    for (const auto& [number, run] : runs_)
        hosted += run.stages.size();
    if (hosted >= limits::node_stages_max)
        return error{errc::exhausted, "node " + runtime().options().name + " carries " +
                                          std::to_string(hosted) +
                                          " stages already; wait for other runs to end"};
    const auto run = runs_.find(body.getRun());
    if (run != runs_.end() && (run->second.trainer != trainer ||
                               run->second.stages.contains({body.getReplica(), body.getStage()})))
        return error{errc::protocol, "this stage of this run is placed already"};
    return {};
}

void node_agent::refuse(actor_address trainer, std::uint64_t run, std::uint32_t replica,
                        std::uint32_t stage, const error& why) {
    frame_builder<proto::PlaceFailed> failed;
    failed.body().setReplica(replica);
    failed.body().setRun(run);
    failed.body().setStage(stage);
    write_failure(failed.body().initFailure(), why);
    send(trainer, std::move(failed));
}

namespace {

// Forward plus backward of every layer. Where time is modelled nothing is measured, as nothing would pass.
result<std::vector<std::uint64_t>> layer_times(const device& where, compute_context& context,
                                               proto::ProfileModel::Reader request,
                                               const clock& time,
                                               const std::atomic<bool>& given_up) {
    std::vector<std::uint64_t> nanoseconds;
    if (!where.modelled_time(0)) {
        auto times = profile_layers(context, request.getModel(),
                                    {.batch = request.getBatch(), .given_up = &given_up}, time);
        if (!times)
            return times.failure();
        for (const layer_time& t : *times)
            nanoseconds.push_back(static_cast<std::uint64_t>((t.forward + t.backward).count()));
        return nanoseconds;
    }
    auto layers = describe_model(request.getModel());
    if (!layers)
        return layers.failure();
    for (const layer_info& layer : *layers) {
        const duration both =
            *where.modelled_time(layer.forward_flops_per_sample * request.getBatch()) +
            *where.modelled_time(layer.backward_flops_per_sample * request.getBatch());
        nanoseconds.push_back(static_cast<std::uint64_t>(both.count()));
    }
    return nanoseconds;
}

} // namespace

// Why this model cannot be measured now. Whoever waits for an answer has no second question: no node can fill the memory
// with what its devices are yet to measure.
result<void> node_agent::check_profile(proto::ProfileModel::Reader body, node_id asking) const {
    if (body.getBatch() == 0 || body.getBatch() > limits::batch_max)
        return error{errc::protocol,
                     "minibatches of " + std::to_string(body.getBatch()) + " samples cannot be"};
    const auto is_its = [&](const auto& other) { return other.second.asked_by.node == asking; };
    if (std::ranges::any_of(profiles_, is_its))
        return error{errc::exhausted, "node " + runtime().options().name +
                                          " measures a model for node " + name_of(asking) +
                                          " already; wait until that has ended"};
    return {};
}

void node_agent::profile(proto::ProfileModel::Reader body, const frame& f) {
    if (auto possible = check_profile(body, f.from().node); !possible)
        return refuse(f.from(), body.getRun(), 0, 0, possible.failure());
    auto compute = find_device(body.getDevice().cStr());
    if (!compute)
        return refuse(f.from(), body.getRun(), 0, 0, compute.failure());
    auto shared = std::make_shared<measurement>();
    shared->request = current();
    const std::uint64_t ticket = ++ticket_;
    profiles_[ticket] = {f.from(), body.getRun(), shared};
    watch(f.from());
    device_task task;
    task.work = [shared, where = compute->get(),
                 time = runtime().options().time](compute_context& context) -> result<void> {
        auto times = layer_times(*where, context, shared->request->body<proto::ProfileModel>(),
                                 *time, shared->given_up);
        if (!times)
            return times.failure();
        shared->nanoseconds = std::move(times).value();
        return {};
    };
    task.done = completion_to(self_handle(), ticket);
    (*compute)->submit(std::move(task));
}

void node_agent::work_done(proto::WorkDone::Reader body, const frame&) {
    const auto entry = profiles_.extract(body.getTicket());
    TROUPE_CHECK(!entry.empty(), "the device completes what was submitted");
    const profiling& p = entry.mapped();
    if (p.work->given_up)
        return;
    unwatch_unless_served(p.asked_by);
    if (body.hasFailure())
        return refuse(p.asked_by, p.run, 0, 0, read_failure(body.getFailure()));
    frame_builder<proto::LayerTimes> times;
    times.body().setRun(p.run);
    const auto& nanoseconds = p.work->nanoseconds;
    auto list = times.body().initNanoseconds(static_cast<unsigned>(nanoseconds.size()));
    for (unsigned i = 0; i < list.size(); ++i)
        list.set(i, nanoseconds[i]);
    send(p.asked_by, std::move(times));
}

namespace {

// How a run ended, for people.
std::string outcome(proto::Release::Reader body) {
    if (!body.hasFailure())
        return "the run is done";
    const error why = read_failure(body.getFailure());
    return (why.code() == errc::cancelled ? "the run was cancelled: " : "the run has failed: ") +
           why.message();
}

} // namespace

// Its shards stay: the other replicas' weights are there.
void node_agent::drop_replica(proto::DropReplica::Reader body, const frame& f) {
    const auto run = runs_.find(body.getRun());
    if (run == runs_.end() || run->second.trainer != f.from())
        return;
    const error why{errc::cancelled,
                    "the run goes on without replica " + std::to_string(body.getReplica())};
    std::erase_if(run->second.stages, [&](const auto& placed) {
        if (placed.first.first != body.getReplica())
            return false;
        end_all(placed.second, why);
        return true;
    });
}

void node_agent::end_all(const hosted_stage& hosted, const error& why) {
    for (const actor_address a :
         {hosted.stage, hosted.reducer, hosted.cache, hosted.shard, hosted.peer})
        if (a)
            runtime().end(a, why);
}

void node_agent::release(proto::Release::Reader body, const frame& f) {
    const auto run = runs_.find(body.getRun());
    if (run != runs_.end() && run->second.trainer == f.from())
        end_run(body.getRun(), {errc::cancelled, outcome(body)});
}

void node_agent::on_down(actor_address who, const error& why) {
    std::vector<std::uint64_t> orphaned;
    for (const auto& [number, run] : runs_)
        if (run.trainer == who)
            orphaned.push_back(number);
    for (const std::uint64_t number : orphaned)
        end_run(number, why.in("the run's trainer is gone"));
    for (const auto& [ticket, p] : profiles_)
        if (p.asked_by == who)
            p.work->given_up = true;
}

void node_agent::unwatch_unless_served(actor_address who) {
    const auto is_its_run = [&](const auto& run) { return run.second.trainer == who; };
    const auto is_its_profile = [&](const auto& p) { return p.second.asked_by == who; };
    if (std::ranges::none_of(runs_, is_its_run) && std::ranges::none_of(profiles_, is_its_profile))
        unwatch(who);
}

std::string node_agent::name_of(node_id node) const {
    for (const peer_info& peer : runtime().peers())
        if (peer.node == node)
            return peer.name;
    return runtime().options().name;
}

void node_agent::log(const std::string& sentence) const {
    if (options_.log)
        options_.log(sentence);
}

void node_agent::end_run(std::uint64_t number, const error& why) {
    const auto run = runs_.extract(number);
    const actor_address trainer = run.mapped().trainer;
    unwatch_unless_served(trainer);
    log("the stages of " + run.mapped().name + " have ended: " + why.message());
    for (const auto& [place, hosted] : run.mapped().stages)
        end_all(hosted, why);
}

} // namespace troupe
