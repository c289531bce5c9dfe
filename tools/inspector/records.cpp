#include "tools/inspector/records.hpp"

#include "actors/runtime/actor_names.hpp"
#include "schemas/base/json.hpp"
#include "tools/inspector/printable.hpp"

namespace troupe::inspector {

namespace {

// Text from a node need not be UTF-8, and may hold what a terminal would obey: only ASCII is written as it is.
std::string line(const json& o) {
    constexpr bool escape_all_else = true;
    return o.dump(-1, escape_all_else);
}

template <class T>
json maybe(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

json maybe_run(std::uint64_t run) {
    return run == 0 ? json(nullptr) : json("0x" + run_text(run));
}

json maybe_id(std::uint64_t id) {
    return id == none ? json(nullptr) : json(id);
}

double microseconds(std::int64_t ns) {
    return static_cast<double>(ns) / 1e3;
}

std::string raw_name(const all_names& names, node_id node, actor_number actor) {
    const auto known = names.find(node);
    if (known != names.end())
        if (const auto found = known->second.actors.find(actor);
            found != known->second.actors.end())
            return found->second;
    return "";
}

json actor_object(const all_names& names, node_id node, actor_number actor) {
    return {{"node", hex_text(node.value())},
            {"actor", actor.value()},
            {"name", raw_name(names, node, actor)}};
}

json facts_object(const actor_row& a) {
    json facts = json::object();
    for (const fact_board::fact& f : a.facts)
        facts[f.name] = f.text;
    return facts;
}

json counts_object(const chrome_counts& counts) {
    return {{"slices", counts.slices},
            {"arrows", counts.arrows},
            {"arrows_without_sender", counts.without_sender},
            {"arrows_backwards", counts.backwards},
            {"events_outside", counts.outside},
            {"events_lost", counts.lost},
            {"events_invalid", counts.invalid}};
}

} // namespace

std::string actors_record(const std::vector<node_rates>& nodes, duration sample) {
    json list = json::array();
    for (const node_rates& node : nodes) {
        json actors = json::array();
        for (const actor_rate& a : node.actors)
            actors.push_back({{"number", a.now.number.value()},
                              {"name", a.now.name},
                              {"run", maybe_run(a.now.run)},
                              {"mailbox_depth", a.now.mailbox_depth},
                              {"messages_handled", a.now.messages_handled},
                              {"messages_per_second", a.messages_per_second},
                              {"handler_busy_share", a.handler_share},
                              {"device_busy_share", a.device_share},
                              {"paused", a.now.paused},
                              {"facts", facts_object(a.now)}});
        json pools = json::array();
        for (const pool_row& p : node.pools)
            pools.push_back({{"name", p.name},
                             {"bytes_in_use", p.bytes_in_use},
                             {"bytes_in_use_peak", p.bytes_in_use_peak},
                             {"bytes_reserved", p.bytes_reserved},
                             {"bytes_max", p.bytes_max},
                             {"system_allocations", p.system_allocations}});
        json links = json::array();
        for (const link_row& l : node.links)
            links.push_back({{"node", hex_text(l.to.value())}, {"name", l.name}, {"over", l.over}});
        list.push_back({{"node", hex_text(node.node.value())},
                        {"name", node.name},
                        {"actors", std::move(actors)},
                        {"memory", std::move(pools)},
                        {"links", std::move(links)}});
    }
    return line({{"event", "actors"},
                 {"sample_seconds", static_cast<double>(sample.count()) / 1e9},
                 {"nodes", std::move(list)}});
}

std::string staleness_record(const std::map<node_id, actor_list>& nodes) {
    json servers = json::array();
    for (const auto& [id, node] : nodes)
        for (const actor_row& a : node.actors) {
            json workers = json::array();
            for (const worker_row& w : a.workers)
                workers.push_back(
                    {{"worker", w.worker},
                     {"clock", w.clock},
                     {"versions_late", w.late},
                     {"waits_for", w.waits_for ? json(*w.waits_for) : json(nullptr)}});
            if (!workers.empty())
                servers.push_back({{"node", hex_text(id.value())},
                                   {"node_name", node.node_name},
                                   {"actor", a.number.value()},
                                   {"name", a.name},
                                   {"workers", std::move(workers)}});
        }
    return line({{"event", "staleness"}, {"servers", std::move(servers)}});
}

std::string schedule_record(const std::vector<fact_table>& runs) {
    json actors = json::array();
    for (const fact_table& run : runs)
        for (const fact_table::row& r : run.rows)
            actors.push_back({{"node", hex_text(r.node->node.value())},
                              {"node_name", r.node->node_name},
                              {"actor", r.actor->number.value()},
                              {"name", r.actor->name},
                              {"run", maybe_run(run.run)},
                              {"facts", facts_object(*r.actor)}});
    return line({{"event", "schedule"}, {"actors", std::move(actors)}});
}

std::string results_record(const std::vector<run_results>& runs) {
    json list = json::array();
    for (const run_results& r : runs) {
        json milestones = json::array();
        for (const milestone_board::milestone& m : r.actor->milestones) {
            json numbers = json::object();
            for (const milestone_board::number& n : m.numbers)
                numbers[n.name] = n.value;
            milestones.push_back({{"milestone", std::uint64_t{m.number} + 1},
                                  {"seconds", std::chrono::duration<double>(m.since_start).count()},
                                  {"numbers", std::move(numbers)}});
        }
        list.push_back({{"node", hex_text(r.node->node.value())},
                        {"node_name", r.node->node_name},
                        {"actor", r.actor->number.value()},
                        {"name", r.actor->name},
                        {"run", maybe_run(r.actor->run)},
                        {"milestones", std::move(milestones)}});
    }
    return line({{"event", "results"}, {"runs", std::move(list)}});
}

std::string tail_record(const tail_message& m, node_id node, const all_names& names,
                        std::int64_t since_attach_ns) {
    const trace_event& e = m.event;
    return line(
        {{"event", "message"},
         {"seconds", static_cast<double>(since_attach_ns) / 1e9},
         {"type", m.type},
         {"from", actor_object(names, e.from_node, e.from_actor)},
         {"to",
          {{"node", hex_text(node.value())}, {"actor", e.to_actor.value()}, {"name", m.actor}}},
         {"sequence", e.sequence},
         {"cause", e.cause},
         {"cause_node", hex_text(e.cause_node.value())},
         {"trace", e.trace_id},
         {"run", maybe_run(e.run)},
         {"minibatch", maybe_id(e.work.value())},
         {"weights", maybe_id(e.state.value())},
         {"queue_ns", e.started_ns - e.enqueued_ns},
         {"run_ns", e.ended_ns - e.started_ns},
         {"bytes", e.bytes},
         {"body", m.body},
         {"tensors", m.tensors},
         {"dropped_before", m.dropped}});
}

std::string tail_end_record(std::uint64_t shown, std::uint64_t dropped) {
    return line({{"event", "end"}, {"shown", shown}, {"dropped", dropped}});
}

std::string path_record(const minibatch_path& path, const all_names& names,
                        std::uint64_t events_lost) {
    json hops = json::array();
    for (const hop& h : path.hops)
        hops.push_back({{"kind", name_of(h.kind)},
                        {"from", actor_object(names, h.from.node, h.from.actor)},
                        {"to", actor_object(names, h.to.node, h.to.actor)},
                        {"at_ns", h.sent_ns - path.hops.front().sent_ns},
                        {"wire_ns", maybe(h.wire_ns)},
                        {"mailbox_ns", maybe(h.mailbox_ns)},
                        {"queue_ns", maybe(h.queue_ns)},
                        {"run_ns", maybe(h.run_ns)},
                        {"weights", maybe(h.weights)},
                        {"bytes", h.bytes}});
    json stages = json::array();
    for (const stage_weights& s : path.stages)
        stages.push_back({{"stage", actor_object(names, s.stage.node, s.stage.actor)},
                          {"forward_versions", std::vector(s.forward.begin(), s.forward.end())},
                          {"backward_versions", std::vector(s.backward.begin(), s.backward.end())},
                          {"equal", s.known() ? json(s.equal()) : json(nullptr)},
                          {"updated_version", maybe(s.updated)},
                          {"produced_version", maybe(s.produced)},
                          {"fetched_version", maybe(s.fetched)},
                          {"lag", maybe(s.lag())}});
    return line({{"event", "path"},
                 {"minibatch", path.minibatch},
                 {"complete", path.complete},
                 {"total_ns", path.total_ns},
                 {"hops", std::move(hops)},
                 {"stages", std::move(stages)},
                 {"events_lost", events_lost}});
}

std::string work_record(const work_path& path, const all_names& names, std::uint64_t events_lost) {
    json steps = json::array();
    for (const work_step& s : path.steps)
        steps.push_back({{"kind", s.kind == trace_kind::message ? "message" : "device"},
                         {"what", s.what},
                         {"from", actor_object(names, s.from.node, s.from.actor)},
                         {"to", actor_object(names, s.to.node, s.to.actor)},
                         {"at_ns", s.begins_ns - path.steps.front().begins_ns},
                         {"wire_ns", maybe(s.wire_ns)},
                         {"queue_ns", maybe(s.queue_ns)},
                         {"run_ns", s.run_ns},
                         {"bytes", s.bytes}});
    return line({{"event", "work"},
                 {"work", path.work},
                 {"run", maybe_run(path.run)},
                 {"total_ns", path.total_ns},
                 {"steps", std::move(steps)},
                 {"events_lost", events_lost}});
}

std::string export_record(const std::string& file, std::uint64_t bytes,
                          const chrome_counts& counts) {
    json o{{"event", "export"}, {"file", file}, {"bytes", bytes}};
    o.update(counts_object(counts));
    return line(o);
}

std::string process_record(std::uint32_t process, const std::string& name) {
    return line({{"ph", "M"},
                 {"pid", process},
                 {"tid", 0},
                 {"name", "process_name"},
                 {"args", {{"name", name}}}});
}

std::string thread_record(std::uint32_t process, std::uint32_t thread, const std::string& name,
                          std::uint64_t order) {
    const json where{{"ph", "M"}, {"pid", process}, {"tid", thread}};
    json called = where;
    called.update({{"name", "thread_name"}, {"args", {{"name", name}}}});
    json sorted = where;
    sorted.update({{"name", "thread_sort_index"}, {"args", {{"sort_index", order}}}});
    return line(called) + ",\n" + line(sorted);
}

std::string counter_record(std::uint32_t process, const std::string& name, std::int64_t at_ns,
                           std::uint64_t value) {
    return line({{"ph", "C"},
                 {"pid", process},
                 {"tid", 0},
                 {"ts", microseconds(at_ns)},
                 {"name", name},
                 {"args", {{"bytes", value}}}});
}

std::string slice_record(const chrome_slice& s) {
    const trace_event& e = *s.event;
    json args{{"sequence", e.sequence}};
    if (e.run != 0)
        args["run"] = maybe_run(e.run);
    if (e.work.value() != none)
        args["minibatch"] = e.work.value();
    if (e.state.value() != none)
        args["weights"] = e.state.value();
    if (e.kind == trace_kind::message) {
        args["from_node"] = hex_text(e.from_node.value());
        args["from_actor"] = e.from_actor.value();
        args["queue_us"] = microseconds(e.started_ns - e.enqueued_ns);
        args["bytes"] = e.bytes;
    }
    return line({{"ph", "X"},
                 {"pid", s.process},
                 {"tid", s.thread},
                 {"ts", microseconds(s.start_ns)},
                 {"dur", microseconds(s.length_ns)},
                 {"name", s.name},
                 {"cat", e.kind == trace_kind::compute ? "device" : "actor"},
                 {"args", std::move(args)}});
}

std::string arrow_record(std::uint64_t id, bool is_end, const chrome_end& end) {
    json o{{"ph", is_end ? "f" : "s"}, {"pid", end.process},
           {"tid", end.thread},        {"ts", microseconds(end.at_ns)},
           {"name", "message"},        {"cat", "message"},
           {"id", hex_text(id)}};
    if (is_end)
        o["bp"] = "e";
    return line(o);
}

std::string other_data(const chrome_counts& counts) {
    return line(counts_object(counts));
}

} // namespace troupe::inspector
