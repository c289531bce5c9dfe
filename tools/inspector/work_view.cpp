// follow work=N: the traces of all nodes, joined into one piece of work of a run of any kind of job.
#include <utility>

#include "actors/runtime/actor_names.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

constexpr duration poll = std::chrono::milliseconds{50};
constexpr int patience_factor = 6;           // a piece of work may take longer than an answer
constexpr std::size_t events_max = 1u << 20; // of one piece of work on one node

error nothing(std::string sentence) {
    return {errc::data, std::move(sentence)};
}

// What kinds of jobs call a piece of work differs, and so this view calls it that.
class work_follower {
  public:
    work_follower(view_context& view, const follow_terms& wanted)
        : view_{view}, wanted_{wanted}, reader_{view.cluster, {.run = wanted.run}},
          runs_{view.cluster, view.options.interval}, heard_{view.cluster.view().time().now()} {}

    // Reads until the piece of work is there and a later one of its run has begun, or nothing more of it will come.
    result<work_path> collect() {
        for (bool first = true;; first = false) {
            const auto news = look();
            if (!news)
                return news.failure();
            if (!wanted_.number && !first && seen_.newest() != before_)
                wanted_.number = seen_.newest();
            if (first) {
                before_ = seen_.newest();
                if (!wanted_.number)
                    traces_.clear(); // none of it can be the next one
            }
            const work_path path = wanted_.number ? path_of(*wanted_.number) : work_path{};
            if (!path.steps.empty() && !*news &&
                (seen_.newest_of(path.run) > wanted_.number || !runs_.is_active() || is_silent()))
                return path;
            if (path.steps.empty())
                if (auto over = why_over())
                    return *over;
            if (path.steps.empty() || !first)
                say_once();
            if (!view_.cluster.view().rest(poll))
                return path.steps.empty()
                           ? result<work_path>{error{errc::cancelled,
                                                     "stopped before the piece of work came by"}}
                           : result<work_path>{path};
        }
    }
    std::uint64_t lost() const noexcept { return lost_; }

  private:
    // Returns whether there are new events of the piece of work.
    result<bool> look() {
        bool news = false;
        auto looked = runs_.look();
        if (looked)
            looked = reader_.read([&](const linked_node& node, const trace_page& page) {
                const auto newest = seen_.newest();
                seen_.add(page.events, wanted_.run);
                if (seen_.newest() != newest)
                    heard_ = view_.cluster.view().time().now();
                lost_ += page.lost + page.invalid;
                news = keep(node, page) || news;
            });
        return looked ? result<bool>{news} : looked.failure();
    }

    // Before it is known which piece of work is meant, only what comes from now on can be of it.
    bool keep(const linked_node& node, const trace_page& page) {
        auto trace = std::ranges::find(traces_, node.id, &node_trace::node);
        if (trace == traces_.end())
            trace = traces_.insert(trace, {node.id, node.clock, {}});
        bool news = false;
        for (const trace_event& e : page.events) {
            const std::uint64_t work = e.work.value();
            if (work == none || (wanted_.number ? work != *wanted_.number : !(work > before_)))
                continue;
            if (trace->events.size() >= events_max) {
                ++lost_;
                continue;
            }
            trace->events.push_back(e);
            news = true;
        }
        return news;
    }

    work_path path_of(std::uint64_t work) const {
        return follow_work(work, wanted_.run, traces_, view_.cluster.names());
    }

    std::optional<error> why_over() const {
        const std::string what =
            wanted_.number ? "piece of work " + std::to_string(*wanted_.number) : "piece of work";
        const std::string of = wanted_.run != 0 ? " of run " + run_text(wanted_.run) : "";
        if (wanted_.number && seen_.newest() > wanted_.number)
            return nothing(what + of +
                           " has passed and is no longer remembered, or never was; the " +
                           "nodes remember " + std::to_string(*seen_.oldest()) + " to " +
                           std::to_string(*seen_.newest()));
        if (!runs_.is_active())
            return nothing("no run is active, and no " + what + of + " is remembered");
        if (is_silent())
            return nothing("no " + what + of + " has come by for " +
                           duration_text(silence_max().count()));
        return std::nullopt;
    }

    bool is_silent() const { return silence_max() <= view_.cluster.view().time().now() - heard_; }
    duration silence_max() const { return view_.options.patience * patience_factor; }

    void say_once() {
        if (!std::exchange(said_, true))
            view_.note("waiting for " +
                       (wanted_.number ? "piece of work " + std::to_string(*wanted_.number)
                                       : std::string{"the next piece of work"}) +
                       "; stop with Ctrl-C");
    }

    view_context& view_;
    follow_terms wanted_;
    trace_reader reader_;
    run_watch runs_;
    time_point heard_; // when a later piece of work was last seen
    work_range seen_;
    std::optional<std::uint64_t> before_; // the newest one at the first look
    std::vector<node_trace> traces_;      // of the pieces of work that may be meant
    std::uint64_t lost_ = 0;
    bool said_ = false;
};

} // namespace

void print_work(std::ostream& out, const work_path& path, const all_names& names) {
    out << "work " << path.work << " of run " << run_text(path.run) << ": "
        << count_text(path.steps.size(), "step", "steps") << ", " << duration_text(path.total_ns)
        << "\n\n";
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
                  s.wire_ns ? duration_text(*s.wire_ns) : "-", duration_text(s.queue_ns),
                  duration_text(s.run_ns), s.bytes > 0 ? bytes_text(s.bytes) : "-"});
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
