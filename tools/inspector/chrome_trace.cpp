#include "tools/inspector/chrome_trace.hpp"

#include <algorithm>

#include "schemas/base/check.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"

namespace troupe::inspector {

namespace {

constexpr std::size_t unmatched_max = std::size_t{1} << 20;
constexpr std::size_t work_kept_max =
    64; // of an actor's device work, for the message that reports it
constexpr std::size_t lanes_max = 8;
// Times are written as microseconds; importers that multiply by 1000 and cut may be 1 ns off. Slices of a lane stay so
// far apart, arrows so far from the end of their slice, that this does not matter.
constexpr std::int64_t gap_ns = 1;
constexpr std::int64_t margin_ns = 3;

} // namespace

chrome_trace::chrome_trace(std::ostream& out, std::int64_t began_ns)
    : out_{out}, began_ns_{began_ns} {
    out_ << trace_begins << '\n';
}

void chrome_trace::write(const std::string& object) {
    if (!first_)
        out_ << ",\n";
    first_ = false;
    out_ << object;
    bytes_ += object.size() + 2;
}

void chrome_trace::add_node(node_id node, const std::string& name, clock_offset clock) {
    process& p = processes_[node];
    if (p.number != 0)
        return;
    p.number = static_cast<std::uint32_t>(processes_.size());
    p.offset_ns = clock.offset_ns;
    write(process_record(p.number, name));
}

void chrome_trace::add(node_id node, const trace_page& page, const all_names& names) {
    const auto found = processes_.find(node);
    TROUPE_CHECK(found != processes_.end(), "a trace has the node before its events");
    counts_.lost += page.lost;
    counts_.invalid += page.invalid;
    for (const trace_event& e : page.events)
        add_event(node, found->second, e, names);
}

void chrome_trace::add_event(node_id node, process& p, const trace_event& e,
                             const all_names& names) {
    const std::int64_t started_ns = e.started_ns - p.offset_ns;
    if (started_ns < began_ns_ || started_ns > ended_ns_) {
        ++counts_.outside;
        return;
    }
    const auto known = names.find(node);
    const node_names nobody;
    const node_names& here = known == names.end() ? nobody : known->second;
    const slice where = place(p, e, here.name_of(e.to_actor));
    write(slice_record({.process = where.process,
                        .thread = where.thread,
                        .start_ns = where.start_ns,
                        .length_ns = where.end_ns - where.start_ns,
                        .name = here.type_of(e),
                        .event = &e}));
    ++counts_.slices;
    if (e.kind == trace_kind::compute) {
        show_memory(p, e, here.name_of(e.to_actor), where.end_ns);
        auto& recent = device_work_[{node.value(), e.to_actor.value()}];
        recent.push_back(where);
        if (recent.size() > work_kept_max)
            recent.pop_front();
        if (e.sequence != 0)
            add_arrow({e.from_node.value(), e.sequence}, {where,
                                                          {node.value(), e.to_actor.value()},
                                                          e.started_ns - p.offset_ns - began_ns_,
                                                          true});
        return;
    }
    const key message{e.from_node.value(), e.sequence};
    if (handled_.emplace(message, handled{where, {e.cause_node.value(), e.cause}}).second)
        handled_order_.push_back(message);
    if (handled_order_.size() > unmatched_max) {
        handled_.erase(handled_order_.front());
        handled_order_.pop_front();
    }
    if (const auto arrows = waiting_.find(message); arrows != waiting_.end()) {
        for (const waiting& arrow : arrows->second)
            resolve(handled_.at(message), arrow);
        waiting_.erase(arrows);
    }
    if (e.cause == 0)
        return;
    const auto sender = processes_.find(e.from_node);
    const std::int64_t offset = sender == processes_.end() ? p.offset_ns : sender->second.offset_ns;
    add_arrow({e.cause_node.value(), e.cause}, {where,
                                                {e.from_node.value(), e.from_actor.value()},
                                                e.sent_ns - offset - began_ns_,
                                                false});
}

void chrome_trace::show_memory(process& p, const trace_event& e, const std::string& actor,
                               std::int64_t at_ns) {
    const auto [last, is_first] = p.memory.emplace(e.to_actor.value(), e.bytes);
    if (e.bytes == 0 || (!is_first && last->second == e.bytes))
        return;
    last->second = e.bytes;
    write(counter_record(p.number, "memory of the device of " + actor, at_ns, e.bytes));
}

// A slice of at least 1 ns, so that an arrow can lie inside it, in the first lane where it overlaps nothing.
chrome_trace::slice chrome_trace::place(process& p, const trace_event& e,
                                        const std::string& actor) {
    const bool is_device = e.kind == trace_kind::compute;
    track& t = p.tracks[{e.to_actor.value(), is_device}];
    std::int64_t start = e.started_ns - p.offset_ns - began_ns_;
    auto lane =
        std::ranges::find_if(t.lanes, [&](const track::lane& l) { return l.end_ns <= start + 2; });
    if (lane == t.lanes.end() && t.lanes.size() < lanes_max) {
        const std::string suffix = t.lanes.empty() ? "" : " " + std::to_string(t.lanes.size() + 1);
        t.lanes.push_back({++p.threads, 0});
        lane = t.lanes.end() - 1;
        const std::uint64_t order =
            std::min<std::uint64_t>(e.to_actor.value(), 1u << 28) * 2 + is_device;
        write(thread_record(p.number, lane->thread, actor + (is_device ? " (device)" : "") + suffix,
                            order));
    } else if (lane == t.lanes.end()) {
        lane = std::ranges::min_element(t.lanes, {}, &track::lane::end_ns);
    }
    start = std::max(start, lane->end_ns);
    const std::int64_t end = std::max(e.ended_ns - p.offset_ns - began_ns_, start + 1);
    lane->end_ns = end + gap_ns;
    return {p.number, lane->thread, start, end};
}

void chrome_trace::add_arrow(key cause, waiting arrow) {
    if (const auto sender = handled_.find(cause); sender != handled_.end())
        return resolve(sender->second, arrow);
    auto& arrows = waiting_[cause];
    if (arrows.empty())
        waiting_order_.push_back(cause);
    arrows.push_back(arrow);
    if (waiting_order_.size() > unmatched_max) {
        const auto oldest = waiting_.find(waiting_order_.front());
        if (oldest != waiting_.end()) {
            counts_.without_sender += oldest->second.size();
            waiting_.erase(oldest);
        }
        waiting_order_.pop_front();
    }
}

// A message that an actor sends while it handles the cause leaves from that slice. One that was sent later
// reports that device work has ended, and leaves from that if it is known. Device work is recorded under
// the message that submitted it or, once it has ended, under the one that reports it; the cause of that
// one submitted it.
void chrome_trace::resolve(const handled& from, const waiting& arrow) {
    if (arrow.is_work && from.where.start_ns > arrow.to.start_ns && from.cause.number != 0) {
        if (const auto cause = handled_.find(from.cause); cause != handled_.end())
            draw(cause->second.where, arrow.sent_ns, arrow);
        else
            ++counts_.without_sender;
        return;
    }
    if (arrow.is_work || arrow.sent_ns <= from.where.end_ns)
        return draw(from.where, arrow.sent_ns, arrow);
    const auto work = device_work_.find(arrow.from_actor);
    if (work != device_work_.end())
        for (auto w = work->second.rbegin(); w != work->second.rend(); ++w)
            if (w->end_ns <= arrow.sent_ns + margin_ns && w->start_ns >= from.where.start_ns)
                return draw(*w, w->end_ns, arrow);
    draw(from.where, from.where.end_ns, arrow); // by a timer, or by work that is not recorded
}

void chrome_trace::draw(const slice& from, std::int64_t sent_ns, const waiting& arrow) {
    const std::int64_t arrives = arrow.to.start_ns;
    const std::int64_t latest = std::max(from.start_ns, from.end_ns - margin_ns);
    const std::int64_t leaves = std::min(std::clamp(sent_ns, from.start_ns, latest), arrives);
    if (leaves < from.start_ns) {
        ++counts_.backwards;
        return;
    }
    ++counts_.arrows;
    write(arrow_record(counts_.arrows, false, {from.process, from.thread, leaves}));
    write(arrow_record(counts_.arrows, true, {arrow.to.process, arrow.to.thread, arrives}));
}

chrome_counts chrome_trace::finish() {
    for (const auto& [cause, arrows] : waiting_)
        counts_.without_sender += arrows.size();
    const std::string end = "\n],\"otherData\":" + other_data(counts_) + "}\n";
    out_ << end;
    bytes_ += end.size();
    return counts_;
}

} // namespace troupe::inspector
