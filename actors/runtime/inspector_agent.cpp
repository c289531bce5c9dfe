#include "actors/runtime/inspector_agent.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "actors/runtime/link_messages.hpp"
#include "actors/runtime/node_core.hpp"
#include "actors/runtime/tail.hpp"
#include "actors/runtime/trace_messages.hpp"

namespace troupe {

namespace {

void write_actors(proto::TraceBatch::Builder body, const std::vector<trace_event>& events,
                  std::map<actor_number, std::string> names) {
    std::set<actor_number> receivers;
    for (const trace_event& event : events)
        receivers.insert(event.to_actor);
    std::erase_if(names, [&](const auto& entry) { return !receivers.contains(entry.first); });
    auto list = body.initActors(static_cast<unsigned>(names.size()));
    unsigned i = 0;
    for (const auto& [number, name] : names) {
        list[i].setNumber(number.value());
        list[i++].setName(name);
    }
}

void write_workers(proto::ActorList::Actor::Builder to,
                   const std::vector<worker_board::row>& workers) {
    auto list = to.initWorkers(static_cast<unsigned>(workers.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
        const worker_board::row& from = workers[i];
        list[i].setWorker(from.worker);
        list[i].setClock(from.clock);
        auto late = list[i].initLate(static_cast<unsigned>(from.late.size()));
        for (unsigned n = 0; n < late.size(); ++n)
            late.set(n, from.late[n]);
        if (from.waits_for)
            list[i].setWaitsFor(*from.waits_for);
    }
}

void write_facts(proto::ActorList::Actor::Builder to, const std::vector<fact_board::fact>& facts) {
    auto list = to.initFacts(static_cast<unsigned>(facts.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setName(facts[i].name);
        list[i].setText(facts[i].text);
    }
}

void write_milestones(proto::ActorList::Actor::Builder to,
                      const std::vector<milestone_board::milestone>& milestones) {
    auto list = to.initMilestones(static_cast<unsigned>(milestones.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setNumber(milestones[i].number);
        list[i].setSinceStartNs(static_cast<std::uint64_t>(milestones[i].since_start.count()));
        auto numbers = list[i].initNumbers(static_cast<unsigned>(milestones[i].numbers.size()));
        for (unsigned k = 0; k < numbers.size(); ++k) {
            numbers[k].setName(milestones[i].numbers[k].name);
            numbers[k].setValue(milestones[i].numbers[k].value);
        }
    }
}

void write_pools(proto::ActorList::Builder body, const std::vector<watched_pool>& pools) {
    auto list = body.initPools(static_cast<unsigned>(pools.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
        const memory_pool_statistics numbers = pools[i].pool->statistics();
        list[i].setName(pools[i].name);
        list[i].setBytesInUse(numbers.bytes_in_use);
        list[i].setBytesInUsePeak(numbers.bytes_in_use_peak);
        list[i].setBytesReserved(numbers.bytes_reserved);
        list[i].setBytesMax(pools[i].pool->bytes_max());
        list[i].setSystemAllocations(numbers.system_allocations_total);
    }
}

void write_types(proto::TraceBatch::Builder body, const std::vector<trace_event>& events,
                 const message_catalog& known) {
    std::set<std::uint64_t> types;
    for (const trace_event& event : events)
        if (event.kind == trace_kind::message)
            types.insert(event.type);
    auto list = body.initTypes(static_cast<unsigned>(types.size()));
    unsigned i = 0;
    for (const std::uint64_t type : types) {
        list[i].setId(type);
        list[i++].setName(known.name_of(type));
    }
}

} // namespace

inspector_agent::inspector_agent(actor_context& context, std::vector<watched_pool> pools)
    : actor{context}, pools_{std::move(pools)} {
    on<proto::ListActors>(&inspector_agent::list_actors);
    on<proto::ReadTrace>(&inspector_agent::read_trace);
    on<proto::OpenTail>(&inspector_agent::open_tail);
    on<proto::TailCredit>(&inspector_agent::extend_tail);
    on<proto::CloseTail>(&inspector_agent::close_tail);
}

void inspector_agent::list_actors(proto::ListActors::Reader, const frame& f) {
    const auto actors = runtime().actors();
    frame_builder<proto::ActorList> answer;
    auto body = answer.body();
    body.setNode(self().node.value());
    body.setNodeName(runtime().options().name);
    body.setNowNs(now().ns);
    auto list = body.initActors(static_cast<unsigned>(actors.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
        list[i].setNumber(actors[i].address.actor.value());
        list[i].setName(actors[i].name);
        list[i].setRun(actors[i].run);
        list[i].setMailboxDepth(actors[i].mailbox_depth);
        list[i].setMessagesHandled(actors[i].messages_handled);
        list[i].setHandlerNs(actors[i].handler_ns);
        list[i].setDeviceNs(actors[i].device_ns);
        list[i].setPaused(actors[i].paused);
        write_workers(list[i], actors[i].workers);
        write_facts(list[i], actors[i].facts);
        write_milestones(list[i], actors[i].milestones);
    }
    write_pools(body, pools_);
    const auto linked = told_links(runtime().peers());
    write_links(body.initLinks(static_cast<unsigned>(linked.size())), linked);
    send(f.from(), std::move(answer));
}

void inspector_agent::read_trace(proto::ReadTrace::Reader request, const frame& f) {
    const auto filter = message_filter::parse(request.getFilter(), *runtime().options().messages);
    if (!filter)
        return reject(filter.failure().message());
    const std::size_t max =
        std::min<std::size_t>(request.getMaxEvents(), limits::trace_batch_events_max);
    trace_batch batch = runtime().trace().read(request.getCursor(), max);
    const auto names = runtime().trace().actor_names();
    std::erase_if(batch.events, [&](const trace_event& event) {
        const auto name = names.find(event.to_actor);
        return !filter->matches(event, name == names.end() ? std::string{} : name->second);
    });

    frame_builder<proto::TraceBatch> answer;
    auto body = answer.body();
    body.setNode(self().node.value());
    body.setNowNs(now().ns);
    body.setNextCursor(batch.next);
    body.setLost(batch.lost);
    auto events = body.initEvents(static_cast<unsigned>(batch.events.size()));
    for (unsigned i = 0; i < events.size(); ++i)
        write_event(events[i], batch.events[i]);
    const auto labels = runtime().trace().labels();
    auto names_list = body.initLabels(static_cast<unsigned>(labels.size()));
    for (unsigned i = 0; i < names_list.size(); ++i)
        names_list.set(i, labels[i]);
    write_types(body, batch.events, *runtime().options().messages);
    write_actors(body, batch.events, names);
    send(f.from(), std::move(answer));
}

void inspector_agent::open_tail(proto::OpenTail::Reader request, const frame& f) {
    const std::uint64_t number = request.getTail();
    const std::uint64_t credit = request.getCredit();
    auto filter = message_filter::parse(request.getFilter(), *runtime().options().messages);
    frame_builder<proto::TailOpened> answer;
    answer.body().setTail(number);
    if (!filter) {
        answer.body().setProblem(filter.failure().message());
        return send(f.from(), std::move(answer));
    }
    const auto opened =
        core_of(runtime()).tails().open(f.from(), number, std::move(*filter), credit);
    if (!opened)
        answer.body().setProblem(opened.failure().message());
    else
        watch(f.from());
    send(f.from(), std::move(answer));
}

void inspector_agent::extend_tail(proto::TailCredit::Reader request, const frame& f) {
    core_of(runtime()).tails().credit(f.from(), request.getTail(), request.getCredit());
}

void inspector_agent::close_tail(proto::CloseTail::Reader request, const frame& f) {
    core_of(runtime()).tails().close(f.from(), request.getTail());
}

void inspector_agent::on_down(actor_address observer, const error&) {
    core_of(runtime()).tails().forget_observer(observer);
}

} // namespace troupe
