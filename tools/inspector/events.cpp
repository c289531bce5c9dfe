#include "tools/inspector/events.hpp"

#include <algorithm>

#include "actors/runtime/actor_names.hpp"
#include "actors/runtime/link_messages.hpp"
#include "actors/runtime/trace_messages.hpp"
#include "schemas/base/limits.hpp"
#include "tools/inspector/printable.hpp"

namespace troupe::inspector {

namespace {

constexpr std::int64_t time_max = std::int64_t{1}
                                  << 61; // differences of two times fit into 64 bits

std::string bounded(capnp::Text::Reader text, std::size_t bytes_max = limits::name_bytes_max) {
    return {text.begin(), std::min<std::size_t>(text.size(), bytes_max)};
}

error too_many(const char* what, std::size_t count) {
    return {errc::protocol,
            std::to_string(count) + " " + what + " are more than the protocol allows"};
}

bool sensible(const trace_event& e) {
    const auto in_range = [](std::int64_t ns) { return ns >= 0 && ns < time_max; };
    return in_range(e.sent_ns) && in_range(e.enqueued_ns) && in_range(e.started_ns) &&
           in_range(e.ended_ns) && e.started_ns <= e.ended_ns;
}

result<std::vector<worker_row>> decode(capnp::List<proto::ActorList::Worker>::Reader list) {
    if (list.size() > listed_workers_max)
        return too_many("workers", list.size());
    std::vector<worker_row> workers;
    for (const auto from : list) {
        if (from.getLate().size() > late_counts_max)
            return too_many("counts of late updates", from.getLate().size());
        worker_row w{from.getWorker(), from.getClock(), {}, {}};
        for (const std::uint64_t updates : from.getLate())
            w.late.push_back(updates);
        if (from.getWaitsFor() != ~std::uint32_t{0})
            w.waits_for = from.getWaitsFor();
        workers.push_back(std::move(w));
    }
    return workers;
}

result<std::vector<fact_board::fact>> decode(capnp::List<proto::ActorList::Fact>::Reader list) {
    if (list.size() > fact_board::facts_max)
        return too_many("facts", list.size());
    std::vector<fact_board::fact> facts;
    for (const auto from : list)
        facts.push_back({bounded(from.getName(), fact_board::name_bytes_max),
                         bounded(from.getText(), fact_board::text_bytes_max)});
    return facts;
}

result<std::vector<milestone_board::milestone>>
decode(capnp::List<proto::ActorList::Milestone>::Reader list) {
    if (list.size() > milestone_board::milestones_max)
        return too_many("milestones", list.size());
    std::vector<milestone_board::milestone> milestones;
    for (const auto from : list) {
        if (from.getNumbers().size() > milestone_board::numbers_max)
            return too_many("numbers of a milestone", from.getNumbers().size());
        const std::uint64_t ns = std::min<std::uint64_t>(from.getSinceStartNs(), time_max);
        milestone_board::milestone m{from.getNumber(), duration{ns}, {}};
        for (const auto number : from.getNumbers())
            m.numbers.push_back(
                {bounded(number.getName(), milestone_board::name_bytes_max), number.getValue()});
        milestones.push_back(std::move(m));
    }
    return milestones;
}

} // namespace

result<actor_list> decode(proto::ActorList::Reader list) {
    if (list.getActors().size() > listed_actors_max)
        return too_many("actors", list.getActors().size());
    if (list.getPools().size() > listed_pools_max)
        return too_many("memory pools", list.getPools().size());
    auto links = read_links(list.getLinks());
    if (!links)
        return links.failure();
    actor_list out;
    out.links = std::move(*links);
    out.node = node_id{list.getNode()};
    out.node_name = bounded(list.getNodeName());
    out.now_ns = std::clamp<std::int64_t>(list.getNowNs(), 0, time_max);
    for (const auto actor : list.getActors()) {
        auto workers = decode(actor.getWorkers());
        if (!workers)
            return workers.failure();
        auto facts = decode(actor.getFacts());
        if (!facts)
            return facts.failure();
        auto milestones = decode(actor.getMilestones());
        if (!milestones)
            return milestones.failure();
        out.actors.push_back({actor_number{actor.getNumber()}, bounded(actor.getName()),
                              actor.getMailboxDepth(), actor.getMessagesHandled(),
                              actor.getHandlerNs(), actor.getDeviceNs(), actor.getPaused(),
                              std::move(workers).value(), actor.getRun(), std::move(facts).value(),
                              std::move(milestones).value()});
    }
    for (const auto pool : list.getPools())
        out.pools.push_back({bounded(pool.getName()), pool.getBytesInUse(),
                             pool.getBytesInUsePeak(), pool.getBytesReserved(), pool.getBytesMax(),
                             pool.getSystemAllocations()});
    return out;
}

result<trace_page> decode(proto::TraceBatch::Reader batch) {
    if (batch.getEvents().size() > page_events_max)
        return too_many("events", batch.getEvents().size());
    if (batch.getLabels().size() > trace_ring::labels_max + 1)
        return too_many("labels", batch.getLabels().size());
    if (batch.getTypes().size() > page_events_max)
        return too_many("types", batch.getTypes().size());
    if (batch.getActors().size() > page_events_max)
        return too_many("actors", batch.getActors().size());
    trace_page out;
    out.now_ns = std::clamp<std::int64_t>(batch.getNowNs(), 0, time_max);
    out.next = batch.getNextCursor();
    out.lost = batch.getLost();
    for (const auto event : batch.getEvents()) {
        const trace_event e = read_event(event);
        if (sensible(e))
            out.events.push_back(e);
        else
            ++out.invalid;
    }
    for (const auto label : batch.getLabels())
        out.labels.push_back(bounded(label));
    for (const auto type : batch.getTypes())
        out.types.emplace(type.getId(), bounded(type.getName()));
    for (const auto actor : batch.getActors())
        out.actors.emplace(actor.getNumber(), bounded(actor.getName()));
    return out;
}

result<tail_message> decode(proto::TailEvent::Reader message) {
    tail_message out;
    out.tail = message.getTail();
    out.event = read_event(message.getEvent());
    if (!sensible(out.event))
        return error{errc::protocol, "a node reports a message whose times make no sense"};
    out.type = bounded(message.getTypeName());
    out.actor = bounded(message.getActorName());
    out.body = bounded(message.getBody(), body_bytes_max);
    out.tensors = bounded(message.getTensors(), body_bytes_max);
    out.dropped = message.getDropped();
    return out;
}

std::string node_names::type_of(const trace_event& event) const {
    if (event.kind == trace_kind::compute)
        return event.type < labels.size() ? printable(labels[event.type])
                                          : "work " + std::to_string(event.type);
    const auto found = types.find(event.type);
    return found != types.end() ? printable(found->second) : "type " + hex_text(event.type);
}

std::string node_names::name_of(actor_number actor) const {
    const auto found = actors.find(actor);
    if (found != actors.end())
        return printable(found->second);
    return actor.value() == 0 ? "nobody" : "actor " + std::to_string(actor.value());
}

namespace {

void learn(node_names& names, actor_number actor, const std::string& name) {
    if (names.actors.size() < listed_actors_max || names.actors.contains(actor))
        names.actors[actor] = name; // the ended ones stay known
}

} // namespace

void learn(node_names& names, const actor_list& list) {
    names.name = list.node_name;
    for (const actor_row& actor : list.actors)
        learn(names, actor.number, actor.name);
}

void learn(node_names& names, const trace_page& page) {
    if (page.labels.size() > names.labels.size())
        names.labels = page.labels;
    for (const auto& [id, name] : page.types)
        if (names.types.size() < page_events_max)
            names.types.emplace(id, name);
    for (const auto& [number, name] : page.actors)
        learn(names, number, name);
}

void learn(node_names& names, const tail_message& message) {
    if (!message.actor.empty())
        learn(names, message.event.to_actor, message.actor);
}

std::string name_of(const all_names& names, node_id node, actor_number actor) {
    const auto found = names.find(node);
    if (found == names.end())
        return "node " + hex_text(node.value()) + "/actor " + std::to_string(actor.value());
    return printable(found->second.name) + "/" + found->second.name_of(actor);
}

bool has_phases(const all_names& names, std::uint64_t run) {
    const std::string scheduler = run == 0 ? "" : name_in_run(run, "scheduler-0");
    return run != 0 && std::ranges::any_of(names, [&](const auto& node) {
               return std::ranges::any_of(node.second.actors, [&](const auto& actor) {
                   return actor.second == scheduler;
               });
           });
}

} // namespace troupe::inspector
