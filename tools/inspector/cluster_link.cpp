#include "tools/inspector/cluster_link.hpp"

#include <algorithm>

#include "actors/runtime/actor_names.hpp"
#include "schemas/base/limits.hpp"
#include "schemas/cluster.capnp.h"
#include "tools/inspector/printable.hpp"

namespace troupe::inspector {

namespace {

constexpr int clock_probes = 5;

actor_address inspector_of(node_id node) {
    return {node, well_known::inspector};
}

struct member_entry {
    node_id node;
    std::string name;
    std::string address;
};

result<std::vector<member_entry>> decode_members(proto::MemberList::Reader answer) {
    const auto members = answer.getMembers();
    if (members.size() > limits::nodes_max)
        return error{errc::protocol, "more members than a cluster may have"};
    std::vector<member_entry> list;
    for (const auto member : members)
        list.push_back({node_id{member.getNode()}, member.getName(), member.getAddress()});
    return list;
}

} // namespace

result<void> cluster_link::attach(const std::string& address) {
    auto peer = view_.connect(address);
    if (!peer)
        return peer.failure();
    if (auto added = add(*peer); !added)
        return added.failure();
    return refresh();
}

result<void> cluster_link::add(const peer_info& peer) {
    auto clock = measure_clock(peer.node);
    if (!clock)
        return clock.failure();
    nodes_.push_back({peer.node, peer.name, peer.address, *clock});
    names_[peer.node].name = peer.name;
    return {};
}

result<clock_offset> cluster_link::measure_clock(node_id node) {
    std::vector<clock_probe> probes;
    for (int i = 0; i < clock_probes; ++i) {
        clock_probe probe;
        probe.asked_ns = view_.time().now().ns;
        const auto list = list_actors(node);
        if (!list)
            return list.failure();
        probe.answered_ns = view_.time().now().ns;
        probe.remote_ns = list->now_ns;
        probes.push_back(probe);
    }
    return estimate_offset(probes);
}

result<void> cluster_link::refresh() {
    if (!drop_departed())
        return end();
    auto members = view_.ask<proto::MemberList>({nodes_.front().id, well_known::cluster},
                                                frame_builder<proto::ListMembers>{},
                                                [](auto answer) { return decode_members(answer); });
    if (!members) {
        // A node that stands alone knows no members.
        if (members.failure().code() == errc::refused)
            return {};
        if (members.failure().code() == errc::lost)
            return drop_departed() ? refresh() : end();
        return members.failure();
    }
    for (const member_entry& member : *members) {
        if (find(member.node) || member.address.empty() || unreachable_.contains(member.node))
            continue;
        auto peer = view_.connect(member.address);
        const auto added = peer ? add(*peer) : result<void>{peer.failure()};
        if (added)
            continue;
        if (added.failure().code() == errc::cancelled)
            return added.failure();
        if (unreachable_.size() < limits::nodes_max)
            unreachable_.insert(member.node);
        note("node " + printable(member.name) + " (" + printable(member.address) +
             ") is left out: " + added.failure().message());
    }
    return {};
}

bool cluster_link::drop_departed() {
    for (const auto& [peer, why] : view_.departures()) {
        const auto gone = std::ranges::find(nodes_, peer.node, &linked_node::id);
        if (gone == nodes_.end())
            continue;
        nodes_.erase(gone);
        living_.erase(peer.node);
        const bool in_order = why.code() == errc::cancelled;
        if (!in_order)
            loss_ = error{errc::lost, "node " + printable(peer.name) +
                                          " was lost: " + printable(why.message(), 256)};
        if (!nodes_.empty())
            note(in_order ? "node " + printable(peer.name) + " has stopped" : loss_->message());
    }
    return !nodes_.empty();
}

error cluster_link::end() const {
    return loss_.value_or(error{errc::cancelled, "the cluster has stopped"});
}

const linked_node* cluster_link::find(node_id node) const {
    const auto found = std::ranges::find(nodes_, node, &linked_node::id);
    return found == nodes_.end() ? nullptr : &*found;
}

bool cluster_link::is_living(actor_address actor) const {
    const auto found = living_.find(actor.node);
    return found != living_.end() && found->second.contains(actor.actor);
}

result<actor_list> cluster_link::list_actors(node_id node) {
    auto list = view_.ask<proto::ActorList>(inspector_of(node), frame_builder<proto::ListActors>{},
                                            [](auto answer) { return decode(answer); });
    if (!list)
        return refusal_of(node, list.failure());
    learn(names_[node], *list);
    std::set<actor_number>& living = living_[node];
    living.clear();
    for (const actor_row& actor : list->actors)
        living.insert(actor.number);
    return list;
}

result<std::map<node_id, actor_list>> cluster_link::list_all_actors() {
    std::map<node_id, actor_list> lists;
    const std::vector<linked_node> asked = nodes_;
    for (const linked_node& node : asked) {
        auto list = list_actors(node.id);
        if (list)
            lists.emplace(node.id, std::move(*list));
        else if (list.failure().code() != errc::lost)
            return list.failure();
    }
    if (!drop_departed())
        return end();
    return lists;
}

result<trace_page> cluster_link::read_trace(node_id node, std::uint64_t cursor,
                                            const tail_terms& filter) {
    frame_builder<proto::ReadTrace> question;
    question.body().setCursor(cursor);
    question.body().setMaxEvents(page_events_max);
    write_filter(question.body().initFilter(), filter);
    auto page = view_.ask<proto::TraceBatch>(
        inspector_of(node), std::move(question),
        [&](proto::TraceBatch::Reader answer) -> result<trace_page> {
            if (answer.getNextCursor() < cursor)
                return error{errc::protocol, "its trace runs backwards"};
            return decode(answer);
        });
    if (!page)
        return refusal_of(node, page.failure());
    if (cursor == 0)
        page->older = std::exchange(page->lost, 0);
    learn(names_[node], *page);
    return page;
}

result<std::string> cluster_link::open_tail(node_id node, std::uint64_t tail,
                                            const tail_terms& filter, std::uint32_t credit) {
    frame_builder<proto::OpenTail> question;
    question.body().setTail(tail);
    question.body().setCredit(credit);
    write_filter(question.body().initFilter(), filter);
    const auto opened =
        view_.ask<proto::TailOpened>(inspector_of(node), std::move(question),
                                     [](proto::TailOpened::Reader answer) -> result<std::string> {
                                         return printable(answer.getProblem().cStr(), 1024);
                                     });
    return opened ? opened : refusal_of(node, opened.failure());
}

error cluster_link::refusal_of(node_id node, const error& failure) {
    if (failure.code() != errc::refused || !find(node) || !view_.await_departure(node))
        return failure;
    return {errc::lost, failure.message()};
}

result<void> run_watch::look() {
    const time_point now = cluster_.view().time().now();
    if (now < next_look_)
        return {};
    std::size_t trainers = 0;
    std::set<std::uint64_t> runs;
    std::set<actor_address> stages;
    const std::vector<linked_node> nodes = cluster_.nodes();
    for (const linked_node& node : nodes) {
        const auto list = cluster_.list_actors(node.id);
        if (!list && list.failure().code() != errc::lost)
            return list.failure();
        if (!list)
            continue;
        for (const actor_row& actor : list->actors) {
            if (run_ != 0 && actor.run != run_)
                continue;
            trainers += role_part(actor.name) == "trainer" ? 1 : 0;
            if (actor.run != 0)
                runs.insert(actor.run);
            if (role_part(actor.name).starts_with("stage-"))
                stages.insert({node.id, actor.number});
        }
    }
    trainers_ = trainers;
    runs_ = std::move(runs);
    stages_ = std::move(stages);
    next_look_ = now + interval_;
    return {};
}

bool caught_up(std::uint64_t cursor, const trace_page& page) {
    const std::uint64_t passed = page.next - cursor;
    const std::uint64_t gone = page.lost + page.older;
    return passed <= gone || passed - gone < page_events_max;
}

result<void>
trace_reader::read(const std::function<void(const linked_node&, const trace_page&)>& take) {
    const std::vector<linked_node> nodes = cluster_.nodes();
    for (const linked_node& node : nodes) {
        std::uint64_t& cursor = cursors_[node.id];
        for (int pages = 0; pages < pages_max; ++pages) {
            const auto page = cluster_.read_trace(node.id, cursor, filter_);
            if (!page && page.failure().code() == errc::lost)
                break;
            if (!page)
                return page.failure();
            take(node, *page);
            const bool last = caught_up(cursor, *page);
            cursor = page->next;
            if (last)
                break;
        }
    }
    if (!cluster_.drop_departed())
        return cluster_.end();
    return {};
}

} // namespace troupe::inspector
