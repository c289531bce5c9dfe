// follow: the traces of all nodes, joined into the way of one minibatch.
#include <algorithm>

#include "actors/runtime/actor_names.hpp"
#include "tools/inspector/following.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

// The minibatches that the nodes have in their traces, kept up to date.
class minibatch_watch {
  public:
    minibatch_watch(cluster_link& cluster, std::uint64_t run)
        : reader_{cluster, {.type = "Activation", .run = run}} {}

    result<void> look() {
        return reader_.read([&](const linked_node& node, const trace_page& page) {
            seen_.add(node.id, node.clock, page.events);
        });
    }
    const minibatch_range& seen() const noexcept { return seen_; }
    void forget() noexcept { seen_ = {}; }

  private:
    trace_reader reader_;
    minibatch_range seen_;
};

// The events of one minibatch.
struct collected {
    std::vector<node_trace> traces; // one for each node
    std::uint64_t lost = 0;

    // True if there is anything new. A node that has no events may have sent what others have: its clock is needed.
    bool add(const linked_node& node, const trace_page& page) {
        lost += page.lost + page.invalid;
        auto trace = std::ranges::find(traces, node.id, &node_trace::node);
        if (trace == traces.end())
            trace = traces.insert(trace, {node.id, node.clock, {}});
        const bool fits = trace->events.size() + page.events.size() <= followed_events_max;
        if (fits)
            trace->events.insert(trace->events.end(), page.events.begin(), page.events.end());
        else
            lost += page.events.size();
        return fits && !page.events.empty();
    }
};

class follower {
  public:
    // `run`: of which; 0: of any.
    follower(view_context& view, std::uint64_t run)
        : view_{view}, run_{run}, watch_{view.cluster, run}, runs_{view.cluster,
                                                                   view.options.interval, run},
          heard_{view.cluster.view().time().now()}, home_{view.cluster.nodes().front().id} {}

    // The latest of those that are first seen to be on their way from now on. An earlier run may have had larger numbers.
    result<std::uint64_t> wait_for_next() {
        if (auto looked = watch_.look(); !looked)
            return looked.failure();
        watch_.forget();
        while (!watch_.seen().newest) {
            if (auto looked = runs_.look(); !looked)
                return looked.failure();
            if (!runs_.is_training())
                return nothing_to_show(no_run() + ": no minibatch will come by");
            if (is_silent())
                return silence();
            say_once("the next minibatch");
            if (!view_.cluster.view().rest(follow_poll))
                return error{errc::cancelled, "stopped before a minibatch came by"};
            if (auto looked = watch_.look(); !looked)
                return looked.failure();
        }
        return *watch_.seen().newest;
    }

    // Reads until the path is complete, or nothing more of it will come.
    result<minibatch_path> collect(std::uint64_t minibatch, collected& found) {
        trace_reader reader{view_.cluster, {.minibatch = minibatch, .run = run_}};
        minibatch_path path;
        path.minibatch = minibatch;
        for (;;) {
            bool news = false;
            // In this order: what a later minibatch has overtaken is in the last, if it is remembered.
            auto read = look();
            if (read)
                read = reader.read([&](const linked_node& node, const trace_page& page) {
                    news = found.add(node, page) || news;
                });
            if (news)
                path = join_path(minibatch, found.traces, view_.cluster.names(),
                                 {runs_.stages(), home_});
            const bool any = !path.stages.empty(); // the answer at the data source alone is no way
            if (path.complete || (!read && any))
                return path;
            if (!read)
                return read.failure();
            if (const auto over = why_over(path))
                return any ? result<minibatch_path>{std::move(path)} : *over;
            say_once(any ? "the rest of minibatch " + std::to_string(minibatch)
                         : "minibatch " + std::to_string(minibatch) + present_text());
            if (!view_.cluster.view().rest(follow_poll))
                return any ? result<minibatch_path>{std::move(path)}
                           : error{errc::cancelled, "stopped before the minibatch came by"};
        }
    }

  private:
    result<void> look() {
        const auto before = watch_.seen().latest_ns;
        auto looked = runs_.look();
        if (looked)
            looked = watch_.look();
        if (before < watch_.seen().latest_ns)
            heard_ = view_.cluster.view().time().now();
        return looked;
    }

    // The minibatches that the stages of the runs which are active are at.
    std::string present_text() const {
        using arrival = minibatch_range::arrival;
        std::vector<arrival> at;
        for (const auto& [stage, latest] : watch_.seen().latest)
            if (runs_.stages().contains(stage))
                at.push_back(latest);
        if (at.empty())
            return "; the run has not begun any yet";
        const auto [low, high] = std::ranges::minmax(at, {}, &arrival::minibatch);
        if (runs_.trainers() != 1 && high.minibatch - low.minibatch > in_flight_max)
            return "; the runs are at minibatches from " + std::to_string(low.minibatch) + " to " +
                   std::to_string(high.minibatch);
        return "; the run is at minibatch " +
               std::to_string(std::ranges::max(at, {}, &arrival::at_ns).minibatch);
    }

    // Several runs may be active, at different minibatches: if some of it is there, those stages count, otherwise all.
    bool has_passed(const minibatch_path& path) const {
        std::set<actor_address> stages;
        for (const stage_weights& s : path.stages)
            if (runs_.stages().contains(s.stage))
                stages.insert(s.stage);
        if (stages.empty())
            stages = runs_.stages();
        const auto& latest = watch_.seen().latest;
        return !stages.empty() && std::ranges::all_of(stages, [&](actor_address stage) {
            const auto at = latest.find(stage);
            return at != latest.end() && at->second.minibatch > path.minibatch &&
                   at->second.minibatch - path.minibatch > in_flight_max;
        });
    }

    std::string no_run() const {
        return run_ != 0 ? "run " + run_text(run_) + " is not active, or trains no network"
               : runs_.is_active()
                   ? "no run that is active trains a network (follow work= is for others)"
                   : "no run is active";
    }
    bool is_silent() const { return silence_max() <= view_.cluster.view().time().now() - heard_; }
    duration silence_max() const { return view_.options.patience * follow_patience_factor; }
    error silence() const {
        return nothing_to_show(
            "no minibatch has come by for " + duration_text(silence_max().count()) +
            "; is a run going on here? Of a job that does not train a network: follow work=next");
    }

    // Why no more of it will come; nothing while it may.
    std::optional<error> why_over(const minibatch_path& path) const {
        const std::string name = "minibatch " + std::to_string(path.minibatch);
        if (!runs_.is_training())
            return nothing_to_show(no_run() + ", and " + name + " is not remembered; " +
                                   remembered());
        if (has_passed(path))
            return nothing_to_show(name + " has passed and is no longer remembered; " +
                                   remembered());
        return is_silent() ? std::optional{silence()} : std::nullopt;
    }

    std::string remembered() const {
        const minibatch_range& seen = watch_.seen();
        return seen.oldest ? "the nodes remember " + std::to_string(*seen.oldest) + " to " +
                                 std::to_string(*seen.newest)
                           : "the nodes remember no minibatch";
    }

    // A view that waits says for what.
    void say_once(const std::string& what) {
        if (!std::exchange(said_, true))
            view_.note("waiting for " + what + "; stop with Ctrl-C");
    }

    view_context& view_;
    const std::uint64_t run_;
    minibatch_watch watch_;
    run_watch runs_;
    time_point heard_;   // when a minibatch was last seen to come by
    const node_id home_; // the node that was attached to: a run's own, if it is a run's address
    bool said_ = false;
};

std::string maybe_time(const std::optional<std::int64_t>& ns) {
    return ns ? duration_text(*ns) : "-";
}

std::string versions(const std::set<std::uint64_t>& list) {
    std::string text;
    for (const std::uint64_t version : list)
        text += (text.empty() ? "" : ",") + std::to_string(version);
    return text.empty() ? "?" : text;
}

std::string weights_line(const stage_weights& s, const all_names& names) {
    std::string line = name_of(names, s.stage.node, s.stage.actor) + ": forward with version " +
                       versions(s.forward) + ", backward with " + versions(s.backward);
    line += !s.known() ? " (not known whether equal)" : s.equal() ? " (equal)" : " (NOT EQUAL)";
    if (s.produced)
        line +=
            "; update of " + std::to_string(*s.updated) + " made " + std::to_string(*s.produced);
    if (s.fetched)
        line += "; then fetched version " + std::to_string(*s.fetched);
    if (const auto lag = s.lag())
        line += ", lag " + std::to_string(*lag);
    return line;
}

// Runs that share a cluster count their minibatches alike.
std::string note_on_runs(const minibatch_path& path, const all_names& names) {
    const auto name = [&](actor_address source) {
        return name_of(names, source.node, source.actor);
    };
    const std::size_t others = path.other_sources.size();
    return "note: this is minibatch " + std::to_string(path.minibatch) + " of the run of " +
           name(path.source) + "; the run of " + name(path.other_sources.front()) +
           (others > 1 ? " and " + std::to_string(others - 1) + " more have" : " has") +
           " one, too; to see that, give run= or attach to the node of that run";
}

} // namespace

void print_path(std::ostream& out, const minibatch_path& path, const all_names& names) {
    out << "minibatch " << path.minibatch << ": "
        << count_text(path.stages.size(), "stage", "stages") << ", " << duration_text(path.total_ns)
        << " there and back\n\n";
    using enum table::align;
    table rows{{{"at", right},
                {"pass", left},
                {"from", left},
                {"to", left},
                {"wire", right},
                {"queue", right},
                {"run", right},
                {"weights", right},
                {"size", right}}};
    for (const hop& h : path.hops)
        rows.add({duration_text(h.sent_ns - path.hops.front().sent_ns), name_of(h.kind),
                  name_of(names, h.from.node, h.from.actor), name_of(names, h.to.node, h.to.actor),
                  maybe_time(h.wire_ns), maybe_time(h.queue_ns ? h.queue_ns : h.mailbox_ns),
                  maybe_time(h.run_ns), h.weights ? std::to_string(*h.weights) : "-",
                  h.bytes > 0 ? bytes_text(h.bytes) : "-"});
    rows.print(out);
    out << '\n';
    for (const stage_weights& s : path.stages)
        out << weights_line(s, names) << '\n';
    out << std::flush;
}

result<void> show_path(view_context& view) {
    const auto wanted = parse_follow_terms(view.options.terms);
    if (!wanted)
        return wanted.failure();
    if (!wanted->is_minibatch)
        return show_work(view, *wanted);
    follower follow{view, wanted->run};
    const auto minibatch =
        wanted->number ? result<std::uint64_t>{*wanted->number} : follow.wait_for_next();
    if (!minibatch)
        return minibatch.failure();
    collected found;
    const auto path = follow.collect(*minibatch, found);
    if (!path)
        return path.failure();
    if (view.options.json)
        view.out << path_record(*path, view.cluster.names(), found.lost) << std::endl;
    else
        print_path(view.out, *path, view.cluster.names());
    if (!path->other_sources.empty())
        view.note(note_on_runs(*path, view.cluster.names()));
    if (found.lost > 0)
        view.note(count_text(found.lost, "event was", "events were") +
                  " overwritten before they could be read; the path may have gaps");
    if (!path->complete)
        view.note(
            "the path is not complete: the nodes do not (or no longer) have all of its events");
    return {};
}

} // namespace troupe::inspector
