// follow: the traces of all nodes, joined into the way of one minibatch.

#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

constexpr duration poll = std::chrono::milliseconds{50};
constexpr int patience_factor = 6;           // a minibatch may take longer than an answer
constexpr std::size_t events_max = 1u << 20; // of one minibatch on one node

error nothing(std::string sentence) {
    return {errc::data, std::move(sentence)};
}

// Which minibatches the nodes have in their traces, kept up to date.
class minibatch_watch {
  public:
    explicit minibatch_watch(cluster_link& cluster) : reader_{cluster, {.type = "Activation"}} {}

    result<void> look() {
        return reader_.read(
            [&](const linked_node&, const trace_page& page) { seen_.add(page.events); });
    }
    const minibatch_range& seen() const noexcept { return seen_; }
    void forget() noexcept { seen_ = {}; }

  private:
    trace_reader reader_;
    minibatch_range seen_;
};

// The events of one minibatch.
struct collected {
    std::map<node_id, node_trace> traces;
    std::uint64_t lost = 0;

    void add(const linked_node& node, const trace_page& page) {
        node_trace& trace = traces[node.id];
        trace.node = node.id;
        trace.clock = node.clock;
        if (trace.events.size() + page.events.size() <= events_max)
            trace.events.insert(trace.events.end(), page.events.begin(), page.events.end());
        lost += page.lost + page.invalid;
    }

    minibatch_path join(std::uint64_t minibatch, const all_names& names) const {
        std::vector<node_trace> list;
        for (const auto& [node, trace] : traces)
            list.push_back(trace);
        return join_path(minibatch, list, names);
    }
};

class follower {
  public:
    explicit follower(view_context& view)
        : view_{view}, watch_{view.cluster}, end_{view.cluster.view().time().now() +
                                                  view.options.patience * patience_factor} {}

    // The latest of those that are first seen to be on their way from now on. An earlier run may have had larger numbers.
    result<std::uint64_t> wait_for_next() {
        if (auto looked = watch_.look(); !looked)
            return looked.failure();
        watch_.forget();
        while (!watch_.seen().newest) {
            if (!view_.cluster.view().rest(poll))
                return error{errc::cancelled, "stopped before a minibatch came by"};
            if (is_over())
                return nothing("no minibatch came by; is a run going on here?");
            if (auto looked = watch_.look(); !looked)
                return looked.failure();
        }
        return *watch_.seen().newest;
    }

    // Reads until the path is complete, the time is over, or the minibatch has gone by unseen.
    result<minibatch_path> collect(std::uint64_t minibatch, collected& found) {
        trace_reader reader{view_.cluster, {.minibatch = minibatch}};
        for (;;) {
            const auto read = reader.read(
                [&](const linked_node& node, const trace_page& page) { found.add(node, page); });
            minibatch_path path = found.join(minibatch, view_.cluster.names());
            const bool any = !path.hops.empty();
            if (path.complete || (!read && any))
                return path;
            if (!read)
                return read.failure();
            if (!any)
                if (auto looked = watch_.look(); !looked)
                    return looked.failure();
            if (!any && (is_over() || has_gone_by(minibatch)))
                return absent(minibatch);
            if (is_over() || !view_.cluster.view().rest(poll))
                return any ? result<minibatch_path>{std::move(path)} : absent(minibatch);
        }
    }

  private:
    bool is_over() const { return end_ <= view_.cluster.view().time().now(); }

    // Later ones are on their way, but not this one: it is not merely late.
    bool has_gone_by(std::uint64_t minibatch) const {
        return watch_.seen().newest && *watch_.seen().newest > minibatch + 16;
    }

    error absent(std::uint64_t minibatch) const {
        const minibatch_range& seen = watch_.seen();
        if (!seen.oldest)
            return nothing("the nodes have no minibatch in their traces; is a run going on here?");
        return nothing("minibatch " + std::to_string(minibatch) +
                       " is not in the traces of the nodes; they hold " +
                       std::to_string(*seen.oldest) + " to " + std::to_string(*seen.newest));
    }

    view_context& view_;
    minibatch_watch watch_;
    const time_point end_;
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
    if (const auto lag = s.lag())
        line += ", lag " + std::to_string(*lag);
    return line;
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
    follower follow{view};
    const auto minibatch = *wanted ? result<std::uint64_t>{**wanted} : follow.wait_for_next();
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
    if (found.lost > 0)
        view.note(count_text(found.lost, "event was", "events were") +
                  " overwritten before they could be read; the path may have gaps");
    if (!path->complete)
        view.note(
            "the path is not complete: the nodes do not (or no longer) have all of its events");
    return {};
}

} // namespace troupe::inspector
