// tail: messages as they are handled, one line each, as many as the reader of the lines keeps up with.
#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include <kj/exception.h>

#include "actors/runtime/actor_names.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "tools/inspector/printable.hpp"
#include "tools/inspector/records.hpp"
#include "tools/inspector/views.hpp"

namespace troupe::inspector {

namespace {

constexpr std::uint64_t tail_number = 1;
constexpr std::uint32_t credit_per_node = 256;
constexpr duration name_refresh = std::chrono::seconds{1};

class tail_printer {
  public:
    explicit tail_printer(view_context& view)
        : view_{view}, began_{view.cluster.view().time().now()}, runs_{view.cluster,
                                                                       view.options.interval} {}

    result<void> run() {
        if (auto opened = open(); !opened)
            return opened;
        result<void> ended;
        while (ended && !view_.cluster.view().stopped() && view_.out.good() &&
               (view_.options.count == 0 || shown_ < view_.options.count)) {
            const auto arrival = view_.cluster.view().next(type_id_of<proto::TailEvent>(),
                                                           std::chrono::milliseconds{200});
            if (arrival)
                show(*arrival);
            else if (!view_.cluster.drop_departed())
                ended = view_.cluster.end();
            if (ended && next_look_ <= view_.cluster.view().time().now())
                ended = look_around();
        }
        finish();
        return view_.cluster.view().stopped() ? result<void>{} : ended;
    }

  private:
    result<void> open() {
        auto terms = parse_tail_terms(view_.options.terms);
        if (!terms)
            return terms.failure();
        terms_ = std::move(*terms);
        if (auto known = find_senders(); !known)
            return known;
        if (!terms_.from.empty() && terms_.senders.empty())
            return error{errc::usage, "from=" + terms_.from + ": no node has such an actor; " +
                                          actors_there(terms_.from, view_.cluster.nodes())};
        const auto chosen = choose_nodes();
        if (!chosen)
            return chosen.failure();
        credit_ = std::clamp<std::uint32_t>(static_cast<std::uint32_t>(8192 / chosen->size()), 8,
                                            credit_per_node);
        if (auto opened = open_at(*chosen); !opened)
            return opened;
        if (!view_.cluster.drop_departed())
            return view_.cluster.end();
        if (auto looked = runs_.look(); !looked)
            return looked;
        say_what_is_awaited(*chosen);
        next_look_ = view_.cluster.view().time().now() + view_.options.interval;
        return {};
    }

    // Opens a tail at each of these nodes that is new.
    result<void> open_at(const std::vector<linked_node>& nodes) {
        for (const linked_node& node : nodes) {
            if (!opened_.insert(node.id).second)
                continue;
            const auto problem = view_.cluster.open_tail(node.id, tail_number, terms_, credit_);
            if (!problem && problem.failure().code() != errc::lost)
                return problem.failure();
            if (problem && !problem->empty())
                return error{errc::usage, *problem};
        }
        return {};
    }

    // A run may end, and the next one bring nodes and actors of its own.
    result<void> look_around() {
        if (auto refreshed = view_.cluster.refresh(); !refreshed)
            return refreshed;
        const bool was_active = runs_.is_active();
        if (auto looked = runs_.look(); !looked)
            return looked;
        if (auto known = find_senders(); !known)
            return known;
        if (const auto chosen = choose_nodes())
            if (auto opened = open_at(*chosen); !opened)
                return opened;
        if (!view_.cluster.drop_departed())
            return view_.cluster.end();
        if (was_active && !runs_.is_active())
            view_.note("the run is over; waiting for the next; stop with Ctrl-C");
        next_look_ = view_.cluster.view().time().now() + view_.options.interval;
        return {};
    }

    // Nodes know senders by number, which is drawn when an actor starts: with new ones the tail is opened anew. While there
    // are none, the old ones are kept, as no senders are all.
    result<void> find_senders() {
        if (terms_.from.empty())
            return {};
        auto found = actors_named(terms_.from, view_.cluster.names());
        std::erase_if(found, [&](actor_address a) { return !view_.cluster.is_living(a); });
        if (found.size() > limits::nodes_max)
            return error{errc::usage,
                         "from=" + terms_.from + ": " + std::to_string(found.size()) +
                             " actors go by this name, of which a tail takes at most " +
                             std::to_string(limits::nodes_max) + "; write NODE/NAME"};
        if (std::ranges::includes(terms_.senders, found))
            return {};
        terms_.senders = std::move(found);
        close();
        opened_.clear();
        used_.clear();
        return {};
    }

    result<std::vector<linked_node>> choose_nodes() {
        std::vector<linked_node> nodes = view_.cluster.nodes();
        if (terms_.node.empty())
            return nodes;
        std::vector<std::string> names;
        for (const linked_node& node : nodes)
            names.push_back(node.name);
        std::erase_if(nodes, [&](const linked_node& node) { return node.name != terms_.node; });
        if (nodes.empty())
            return error{errc::usage, "there is no node " + terms_.node + "; " +
                                          guess(terms_.node, names) + "the nodes are " +
                                          join(names)};
        return nodes;
    }

    // It may be in vain: what has passed is not shown, and nothing comes while no run is going on.
    void say_what_is_awaited(const std::vector<linked_node>& nodes) {
        std::string conditions;
        for (const std::string& term : view_.options.terms)
            conditions += (conditions.empty() ? " with " : " ") + term;
        std::string line =
            "waiting for messages" + printable(conditions, 256) + "; stop with Ctrl-C";
        if (!runs_.is_active())
            line += "; no run is active";
        else if (terms_.run != 0 && !runs_.runs().contains(terms_.run))
            line += "; run " + run_text(terms_.run) + " is not active";
        if (terms_.minibatch != none)
            line +=
                "; what has passed is shown by: follow " +
                std::string{runs_.is_training() || !runs_.is_active() ? "minibatch=" : "work="} +
                std::to_string(terms_.minibatch);
        if (!terms_.actor.empty() && !is_there(terms_.actor, nodes))
            line +=
                "; no actor is called " + terms_.actor + ": " + actors_there(terms_.actor, nodes);
        view_.note(printable(line, 1024));
    }

    bool is_there(const std::string& actor, const std::vector<linked_node>& nodes) {
        return std::ranges::any_of(
            actors_named(actor, view_.cluster.names()), [&](actor_address named) {
                return std::ranges::find(nodes, named.node, &linked_node::id) != nodes.end();
            });
    }

    std::string actors_there(const std::string& wrong, const std::vector<linked_node>& nodes) {
        std::set<std::string> names;
        for (const linked_node& node : nodes)
            for (const auto& [number, name] : view_.cluster.names()[node.id].actors)
                names.insert(wrong.find('/') == std::string::npos ? std::string{role_part(name)}
                                                                  : name);
        const std::vector<std::string> list{names.begin(), names.end()};
        return guess(wrong, list) + "now there are " + join(list);
    }

    void show(const observer::arrival& arrival) {
        const linked_node* node = view_.cluster.find(arrival.from);
        if (!node)
            return;
        try {
            const auto message = decode(arrival.message->body<proto::TailEvent>());
            if (message && message->tail == tail_number)
                return print(*message, *node);
        } catch (const kj::Exception&) {
        }
        view_.cluster.view().give_up(arrival.from,
                                     {errc::protocol, "it sends messages that cannot be read"});
    }

    void print(const tail_message& m, const linked_node& node) {
        const std::int64_t at = m.event.ended_ns - node.clock.offset_ns - began_.ns;
        learn(view_.cluster.names()[node.id], m);
        learn_sender(m.event);
        dropped_ += m.dropped;
        if (view_.options.json)
            view_.out << tail_record(m, node.id, view_.cluster.names(), at) << std::endl;
        else {
            if (m.dropped > 0)
                view_.note(count_text(m.dropped, "message", "messages") + " of node " +
                           printable(node.name) +
                           " not shown: they came faster than they could be printed");
            view_.out << tail_line(m, node.id, view_.cluster.names(), at) << std::endl;
        }
        ++shown_;
        give_credit(node.id);
    }

    // Credit is given in portions, so that it costs little.
    void give_credit(node_id node) {
        std::uint32_t& used = used_[node];
        if (++used < credit_ / 2)
            return;
        frame_builder<proto::TailCredit> more;
        more.body().setTail(tail_number);
        more.body().setCredit(used);
        view_.cluster.view().tell({node, well_known::inspector}, std::move(more));
        used = 0;
    }

    // An actor that is not known may be new: its node is asked again, at most once a second.
    void learn_sender(const trace_event& e) {
        const time_point now = view_.cluster.view().time().now();
        if (e.from_actor.value() == 0 || !view_.cluster.find(e.from_node) ||
            view_.cluster.names()[e.from_node].actors.contains(e.from_actor) || now < next_refresh_)
            return;
        next_refresh_ = now + name_refresh;
        (void)view_.cluster.list_actors(e.from_node)
            .ok(); // a name is not worth an error; a lost node is noticed anyway
    }

    void close() {
        for (const node_id node : opened_) {
            if (!view_.cluster.find(node))
                continue;
            frame_builder<proto::CloseTail> end;
            end.body().setTail(tail_number);
            view_.cluster.view().tell({node, well_known::inspector}, std::move(end));
        }
    }

    void finish() {
        close();
        if (view_.options.json)
            view_.out << tail_end_record(shown_, dropped_) << std::endl;
        else
            view_.note(count_text(shown_, "message", "messages") + " shown" +
                       (dropped_ == 0 ? ""
                                      : ", " + std::to_string(dropped_) +
                                            " dropped because they came "
                                            "faster than they could be printed"));
    }

    view_context& view_;
    const time_point began_;
    run_watch runs_;
    tail_terms terms_;
    std::set<node_id> opened_;
    time_point next_look_;
    std::uint32_t credit_ = credit_per_node;
    std::map<node_id, std::uint32_t> used_;
    time_point next_refresh_;
    std::uint64_t shown_ = 0;
    std::uint64_t dropped_ = 0;
};

} // namespace

std::string tail_line(const tail_message& m, node_id node, const all_names& names,
                      std::int64_t since_attach_ns) {
    const trace_event& e = m.event;
    std::array<char, 32> time{};
    std::snprintf(time.data(), time.size(), "%12.6f", static_cast<double>(since_attach_ns) / 1e9);
    std::string line = time.data();
    line += "  " + printable(m.type) + "  " + name_of(names, e.from_node, e.from_actor) + " -> " +
            name_of(names, node, e.to_actor);
    if (e.work.value() != none)
        line += (has_phases(names, e.run) ? "  phase " : "  minibatch ") +
                std::to_string(e.work.value());
    if (e.state.value() != none)
        line += "  weights " + std::to_string(e.state.value());
    line += "  queue " + duration_text(e.started_ns - e.enqueued_ns) + "  run " +
            duration_text(e.ended_ns - e.started_ns) + "  " + bytes_text(e.bytes);
    if (!m.body.empty())
        line += "  " + printable(m.body, body_bytes_max);
    if (!m.tensors.empty())
        line += "  " + printable(m.tensors, body_bytes_max);
    return line;
}

result<void> show_tail(view_context& view) {
    return tail_printer{view}.run();
}

} // namespace troupe::inspector
