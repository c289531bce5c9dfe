// follow work=N: the traces of all nodes, joined into one piece of work of a run of any kind of job.
#include <utility>

#include "actors/runtime/actor_names.hpp"
#include "tools/inspector/following.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

// No more of a piece of work comes when its run has begun a later one and nothing has come for so long.
constexpr duration quiet = std::chrono::milliseconds{500};

// The view calls a piece of work just that, as each kind of job has a name of its own for it.
class work_follower {
  public:
    work_follower(view_context& view, const follow_terms& wanted)
        : view_{view}, wanted_{wanted}, reader_{view.cluster, {.run = wanted.run}},
          runs_{view.cluster, view.options.interval}, heard_{now()} {}

    // Reads until the piece of work is whole, or nothing more of it will come.
    result<work_path> collect() {
        for (bool is_first = true;; is_first = false) {
            if (auto looked = look(); !looked)
                return looked.failure();
            if (!wanted_.number)
                is_first ? remember_what_was() : choose_next();
            work_path path = wanted_.number ? follow_work(*wanted_.number, wanted_.run, traces_,
                                                          view_.cluster.names())
                                            : work_path{};
            const bool is_there = !path.steps.empty();
            if (is_there && is_whole(path.run))
                return path;
            if (!is_there)
                if (auto over = why_over())
                    return *over;
            if (!is_there || !is_first)
                say_once();
            if (!view_.cluster.view().rest(follow_poll))
                return is_there
                           ? result<work_path>{std::move(path)}
                           : error{errc::cancelled, "stopped before the piece of work came by"};
        }
    }
    std::uint64_t lost() const noexcept { return lost_; }

  private:
    result<void> look() {
        if (auto looked = runs_.look(); !looked)
            return looked.failure();
        return reader_.read([&](const linked_node& node, const trace_page& page) {
            seen_.add(page.events);
            lost_ += page.lost + page.invalid;
            if (keep(node, page))
                heard_ = now();
        });
    }

    // The work that the nodes hold already is not the next one.
    void remember_what_was() {
        before_ = seen_;
        traces_.clear();
    }

    // The first newer piece of work of a run that is active.
    void choose_next() {
        for (const std::uint64_t run : runs_.runs())
            if ((wanted_.run == 0 || wanted_.run == run) &&
                seen_.newest_of(run) > before_.newest_of(run)) {
                wanted_.number = seen_.newest_of(run);
                wanted_.run = run;
                return;
            }
    }

    // Keeps the events that may be of it. Returns whether there are any.
    bool keep(const linked_node& node, const trace_page& page) {
        auto trace = std::ranges::find(traces_, node.id, &node_trace::node);
        if (trace == traces_.end())
            trace = traces_.insert(trace, {node.id, node.clock, {}});
        bool any = false;
        for (const trace_event& e : page.events) {
            if (e.work.value() == none ||
                (wanted_.number ? e.work.value() != *wanted_.number
                                : !(e.work.value() > before_.newest_of(e.run))))
                continue;
            if (trace->events.size() >= followed_events_max) {
                ++lost_;
                continue;
            }
            trace->events.push_back(e);
            any = true;
        }
        return any;
    }

    bool is_whole(std::uint64_t run) const {
        const std::uint64_t newest = seen_.newest_of(run).value_or(0);
        const bool is_past = newest > *wanted_.number;
        return (is_past && newest - *wanted_.number >= in_flight_max) ||
               !runs_.runs().contains(run) || is_silent(is_past ? quiet : silence_max());
    }

    // Why it will not come; nothing while it may.
    std::optional<error> why_over() const {
        const std::string what =
            (wanted_.number ? "piece of work " + std::to_string(*wanted_.number)
                            : "piece of work") +
            (wanted_.run != 0 ? " of run " + run_text(wanted_.run) : "");
        const std::set<std::uint64_t>& active = runs_.runs();
        if (active.empty() || (wanted_.run != 0 && !active.contains(wanted_.run)))
            return nothing_to_show(
                (active.empty() ? "no run is active"
                                : "run " + run_text(wanted_.run) + " is not active") +
                std::string{", and no "} + what + " is remembered" + remembered());
        const auto has_passed = [&](std::uint64_t run) {
            return (wanted_.run != 0 && wanted_.run != run) ||
                   seen_.newest_of(run) >= *wanted_.number + in_flight_max;
        };
        if (wanted_.number && *wanted_.number < none - in_flight_max &&
            std::ranges::all_of(active, has_passed))
            return nothing_to_show(what + " has passed and is no longer remembered, or never was" +
                                   remembered());
        if (is_silent(silence_max()))
            return nothing_to_show("no " + what + " has come by for " +
                                   duration_text(silence_max().count()));
        return std::nullopt;
    }

    // "; the nodes remember 10 to 99 of run 5c6879d3"
    std::string remembered() const {
        std::string text;
        for (const auto& [run, range] : seen_.by_run())
            if ((wanted_.run == 0 || wanted_.run == run) && text.size() < 200)
                text += (text.empty() ? "; the nodes remember " : ", ") +
                        std::to_string(range.oldest) + " to " + std::to_string(range.newest) +
                        " of run " + run_text(run);
        return text;
    }

    time_point now() const { return view_.cluster.view().time().now(); }
    bool is_silent(duration limit) const { return limit <= now() - heard_; }
    duration silence_max() const { return view_.options.patience * follow_patience_factor; }

    void say_once() {
        if (!std::exchange(said_, true))
            view_.note("waiting for " +
                       (wanted_.number ? "all of piece of work " + std::to_string(*wanted_.number)
                                       : std::string{"the next piece of work"}) +
                       (wanted_.run != 0 ? " of run " + run_text(wanted_.run) : "") +
                       "; stop with Ctrl-C");
    }

    view_context& view_;
    follow_terms wanted_;
    trace_reader reader_;
    run_watch runs_;
    time_point heard_; // when an event of what is wanted last came
    work_ranges seen_;
    work_ranges before_;             // at the first look
    std::vector<node_trace> traces_; // of the pieces of work that may be meant
    std::uint64_t lost_ = 0;
    bool said_ = false;
};

} // namespace

void print_work(std::ostream& out, const work_path& path, const all_names& names) {
    out << (has_phases(names, path.run) ? "phase " : "work ") << path.work << " of run "
        << run_text(path.run) << ": " << count_text(path.steps.size(), "step", "steps") << ", "
        << duration_text(path.total_ns) << "\n\n";
    using enum table::align;
    table rows{{{"at", right},
                {"what", left},
                {"from", left},
                {"to", left},
                {"wire", right},
                {"queue", right},
                {"run", right},
                {"size", right}}};
    for (const work_step& s : path.steps) {
        const bool is_message = s.kind == trace_kind::message;
        rows.add({duration_text(s.begins_ns - path.steps.front().begins_ns), s.what,
                  is_message ? name_of(names, s.from.node, s.from.actor) : "(device)",
                  name_of(names, s.to.node, s.to.actor),
                  s.wire_ns ? duration_text(*s.wire_ns) : "-",
                  s.queue_ns ? duration_text(*s.queue_ns) : "-", duration_text(s.run_ns),
                  s.bytes > 0 ? bytes_text(s.bytes) : "-"});
    }
    rows.print(out);
    out << std::flush;
}

result<void> show_work(view_context& view, const follow_terms& wanted) {
    work_follower follow{view, wanted};
    const auto path = follow.collect();
    if (!path)
        return path.failure();
    if (view.options.json)
        view.out << work_record(*path, view.cluster.names(), follow.lost()) << std::endl;
    else
        print_work(view.out, *path, view.cluster.names());
    if (!path->other_runs.empty())
        view.note(
            "note: " + count_text(path->other_runs.size(), "other run has", "other runs have") +
            " a piece of work of this number; choose with run=" +
            run_text(*path->other_runs.begin()));
    if (follow.lost() > 0)
        view.note(count_text(follow.lost(), "event was", "events were") +
                  " overwritten before they could be read; the path may have gaps");
    return {};
}

} // namespace troupe::inspector
