#include "actors/agent/node_agent.hpp"

#include <algorithm>
#include <utility>

#include "actors/agent/on_node.hpp"
#include "actors/messages.hpp"
#include "actors/runtime/actor_names.hpp"
#include "schemas/base/nearest.hpp"

namespace troupe {

node_agent::node_agent(actor_context& context, node_agent_options options)
    : actor{context}, options_{std::move(options)} {
    on<proto::Spawn>(&node_agent::spawn);
    on<proto::EndActors>(&node_agent::end_actors);
    on<proto::Release>(&node_agent::release);
    on<proto::AreYouThere>(&node_agent::answer);
}

result<const role*> node_agent::find_role(proto::Spawn::Reader body) const {
    const std::string name = body.getRole().cStr();
    const auto found = std::ranges::find(options_.roles, name, &role::name);
    if (found == options_.roles.end()) {
        std::vector<std::string> known;
        for (const role& r : options_.roles)
            known.push_back(r.name);
        return error{errc::protocol, "node " + runtime().options().name + " has no role '" +
                                         printable(name, limits::name_bytes_max) + "', it has " +
                                         join(known)};
    }
    if (found->options_type != body.getOptionsType())
        return error{errc::protocol, "node " + runtime().options().name +
                                         " reads other options of a " + name +
                                         "; start it with the same version of troupe as the run"};
    return &*found;
}

// Checks that do not depend on the role.
result<void> node_agent::check_request(proto::Spawn::Reader body, actor_address asker) const {
    std::size_t hosted = 0;
    for (const auto& [number, run] : runs_)
        hosted += run.actors.size();
    if (hosted >= limits::node_actors_max)
        return error{errc::exhausted, "node " + runtime().options().name + " carries " +
                                          std::to_string(hosted) +
                                          " actors of runs already; wait for other runs to end"};
    if (body.getRun() == 0)
        return error{errc::protocol, "a run has a number other than 0"};
    const auto run = runs_.find(body.getRun());
    if (run == runs_.end())
        return {};
    if (run->second.asker != asker)
        return error{errc::protocol, "this run is another asker's"};
    if (run->second.actors.contains(body.getRequest()))
        return error{errc::protocol, "this request of this run has been carried out already"};
    return {};
}

result<prepared_actor> node_agent::prepare(proto::Spawn::Reader body, actor_address asker,
                                           shared_objects& shared) const {
    if (auto possible = check_request(body, asker); !possible)
        return possible.failure();
    const auto wanted = find_role(body);
    if (!wanted)
        return wanted.failure();
    const auto compute =
        device_named(options_.devices, body.getDevice().cStr(), runtime().options().name);
    if (!compute)
        return compute.failure();
    const role_resources on{.runtime = runtime(),
                            .compute = *compute,
                            .io = options_.io,
                            .run = body.getRun(),
                            .asker = asker,
                            .shared = shared};
    return (*wanted)->prepare(body.getOptions(), on);
}

void node_agent::spawn(proto::Spawn::Reader body, const frame& f) {
    const actor_address asker = f.from();
    const auto known = runs_.find(body.getRun());
    const auto shared =
        known != runs_.end() ? known->second.shared : std::make_shared<shared_objects>();
    const request_name asked{body.getRun(), body.getRequest(), asker};
    auto prepared = prepare(body, asker, *shared);
    if (!prepared)
        return refuse(asked, prepared.failure());
    hosted_run& run = runs_[asked.run];
    run.asker = asker;
    run.shared = shared;
    run.name = name_of_node(runtime(), asker.node);
    const std::uint64_t ticket = ++last_ticket_;
    run.actors[asked.request] = {.address = {}, .ticket = ticket};
    watch(asker);
    const std::string on = body.getDevice().cStr();
    if (!prepared->work)
        return place(asked, *prepared, on);
    // The options lie in the request.
    device& where = *prepared->worked_on_by;
    work_.submit(where, {.label = "make",
                         .work = [work = std::move(prepared->work),
                                  request = current()](compute_context&) { return work(); },
                         .then =
                             [this, asked, ticket, on, made = *prepared] {
                                 if (awaited(asked, ticket) != nullptr)
                                     place(asked, made, on);
                             },
                         .failed =
                             [this, asked, ticket](const error& why) {
                                 if (awaited(asked, ticket) == nullptr)
                                     return;
                                 forget(asked);
                                 refuse(asked, why);
                             }});
}

void node_agent::place(const request_name& asked, const prepared_actor& prepared,
                       const std::string& device) {
    hosted_run& run = runs_.at(asked.run);
    const actor_address spawned = prepared.spawn();
    run.actors.at(asked.request).address = spawned;
    log(run.name + " has placed " + name_in_run(asked.run, prepared.name) + " on " + device);
    frame_builder<proto::Spawned> answer;
    answer.body().setRun(asked.run);
    answer.body().setRequest(asked.request);
    write_address(answer.body().initAddress(), spawned);
    send(asked.asker, std::move(answer));
}

void node_agent::refuse(const request_name& asked, const error& why) {
    frame_builder<proto::SpawnFailed> failed;
    failed.body().setRun(asked.run);
    failed.body().setRequest(asked.request);
    write_failure(failed.body().initFailure(), why);
    send(asked.asker, std::move(failed));
}

node_agent::hosted_actor* node_agent::awaited(const request_name& asked, std::uint64_t ticket) {
    const auto run = runs_.find(asked.run);
    if (run == runs_.end())
        return nullptr;
    const auto found = run->second.actors.find(asked.request);
    return found != run->second.actors.end() && found->second.ticket == ticket ? &found->second
                                                                               : nullptr;
}

// A run without actors is nobody's.
void node_agent::forget(const request_name& asked) {
    const auto run = runs_.find(asked.run);
    run->second.actors.erase(asked.request);
    if (!run->second.actors.empty())
        return;
    runs_.erase(run);
    unwatch_unless_leading(asked.asker);
}

void node_agent::end_actors(proto::EndActors::Reader body, const frame& f) {
    const auto run = runs_.find(body.getRun());
    if (run == runs_.end() || run->second.asker != f.from())
        return;
    const error why = read_failure(body.getFailure());
    for (const auto named : body.getActors()) {
        const actor_address who = read_address(named);
        const auto is_it = [&](const auto& hosted) { return hosted.second.address == who; };
        if (std::erase_if(run->second.actors, is_it) > 0)
            runtime().end(who, why);
    }
}

namespace {

// Text for people about the end of a run.
std::string outcome(proto::Release::Reader body) {
    if (!body.hasFailure())
        return "the run is done";
    const error why = read_failure(body.getFailure());
    return (why.code() == errc::cancelled ? "the run was cancelled: " : "the run has failed: ") +
           why.message();
}

} // namespace

void node_agent::answer(proto::AreYouThere::Reader, const frame& f) {
    send(f.from(), frame_builder<proto::HereIAm>{});
}

void node_agent::release(proto::Release::Reader body, const frame& f) {
    const auto run = runs_.find(body.getRun());
    if (run != runs_.end() && run->second.asker == f.from())
        end_run(body.getRun(), {errc::cancelled, outcome(body)});
}

void node_agent::on_down(actor_address who, const error& why) {
    std::vector<std::uint64_t> orphaned;
    for (const auto& [number, run] : runs_)
        if (run.asker == who)
            orphaned.push_back(number);
    for (const std::uint64_t number : orphaned)
        end_run(number, why.in("the actor that leads the run is gone"));
}

void node_agent::end_run(std::uint64_t number, const error& why) {
    const auto run = runs_.extract(number);
    const actor_address asker = run.mapped().asker;
    unwatch_unless_leading(asker);
    log("the actors of " + run.mapped().name + " have ended: " + why.message());
    // Actors that watch others were requested after them, so they end first.
    const auto& actors = run.mapped().actors;
    std::for_each(actors.rbegin(), actors.rend(), [&](const auto& hosted) {
        if (hosted.second.address)
            runtime().end(*hosted.second.address, why);
    });
}

void node_agent::unwatch_unless_leading(actor_address asker) {
    const auto is_its_run = [&](const auto& other) { return other.second.asker == asker; };
    if (std::ranges::none_of(runs_, is_its_run))
        unwatch(asker);
}

void node_agent::log(const std::string& sentence) const {
    if (options_.log)
        options_.log(sentence);
}

} // namespace troupe
