// The leader after a loss: who is asked for anew, and how the run goes on.
#include <algorithm>

#include "actors/agent/on_node.hpp"
#include "actors/messages.hpp"
#include "actors/runtime/lost_nodes.hpp"
#include "actors/runtime/well_known.hpp"
#include "actors/scheduled/leader.hpp"

namespace troupe::scheduled {

namespace {

// For the leader to hear of nodes that it has lost itself, and for all that have lost a node to say so.
constexpr duration until_pairs_are_decided = std::chrono::seconds{1};

// Each worker on the device that carries the fewest, each scheduler beside a worker.
void place(cast& of, const device_choice& devices, std::size_t workers,
           const std::vector<std::size_t>& members) {
    std::vector<plan_device> in_use;
    for (std::size_t w = 0; w < workers; ++w)
        if (std::ranges::count(members, w) == 0)
            in_use.push_back(of.where(w));
    for (std::size_t m = 0; m < of.size(); ++m) {
        if (std::ranges::count(members, m) == 0)
            continue;
        const plan_device where =
            m < workers ? devices.choose(in_use).value() : of.where((m - workers) % workers);
        of.move(m, where);
        if (m < workers)
            in_use.push_back(where);
    }
}

// Workers that are gone, and workers that want data which has not all been dealt.
std::vector<std::size_t> to_ask_again(std::vector<std::size_t> gone,
                                      const std::vector<bool>& wanted) {
    for (std::size_t w = 0; w < wanted.size(); ++w)
        if (wanted[w] && std::ranges::count(gone, w) == 0)
            gone.push_back(w);
    return gone;
}

// A run that loses all nodes in turn may lose an actor as often as by a fault of the program, which comes second.
error none_left(const error& why, const std::string& members, const std::string& checkpoint,
                bool is_in_succession) {
    const bool are_there = why.code() == errc::refused; // but have given the run up
    const std::string start = are_there ? "" : "start nodes and ";
    return {
        errc::lost,
        why.message() +
            (are_there ? "" : "; it carried " + members + ", and no node is left to go on") + "; " +
            (checkpoint.empty()
                 ? "nothing is saved: " + start + "run again"
                 : checkpoint + " is saved: " + start + "go on from it by --resume") +
            (is_in_succession ? "; where nobody has ended the nodes, see what they print" : "")};
}

error lost_in_place(const error& why, const std::string& members, std::uint64_t folded,
                    const std::string& onward) {
    return {errc::numeric,
            why.message() + "; it carried " + members + ", lost " +
                std::to_string(repeated_losses::in_succession_max) +
                " times in succession, and the run came no further than about phase " +
                std::to_string(folded) +
                " between; what is computed there may end its process: see what "
                "the nodes print" +
                onward};
}

} // namespace

// `cancelled`: its node was stopped in order, or others have lost it. Actors that the leader ends are not watched any more.
void leader::on_down(actor_address who, const error& why) {
    std::vector<std::size_t> gone = cast_.gone_with(who);
    if (gone.empty() || course_.is_over())
        return;
    const bool leaves = why.code() == errc::cancelled;
    if (!leaves && !is_of_lost_node(why.code())) // a part that has failed would fail again
        return finish(why.in(cast_.describe(gone)));
    if (leaves)
        gone = cast_.gone_with(cast_.agent_of(gone.front()));
    if (leaves || cast_.agent_of(gone.front()) == who)
        devices_.lose(who.node);
    const std::uint64_t folded = // at least
        std::max(reached_.phases, commits_.latest() != nullptr ? commits_.phase() : 0);
    std::vector<std::size_t>
        there; // a node that was lost before an actor came to it is no fault of the actor's
    std::ranges::copy_if(gone, std::back_inserter(there),
                         [&](std::size_t m) { return bool(cast_.address_of(m)); });
    const auto in_succession =
        why.code() == errc::lost ? losses_.in_place.add(there, folded) : std::vector<std::size_t>{};
    if (!devices_.choose({}))
        return finish(
            none_left(why, cast_.describe(gone), files_.checkpoint, !in_succession.empty()));
    if (!in_succession.empty())
        return finish(
            lost_in_place(why, cast_.describe(in_succession), folded, files_.onward_text()));
    const std::string carried = cast_.describe(gone);
    losses_.actors += static_cast<std::uint32_t>(gone.size());
    facts_->set("losses", std::to_string(losses_.actors));
    // The phases of the others go on, and the schedulers keep those since the commit.
    const bool replays = course_.can_replay() && commits_.latest() != nullptr &&
                         options_.what.shares.blocks.empty() &&
                         std::ranges::all_of(gone, [&](std::size_t m) { return m < workers(); });
    if (!replays) { // all: what has been computed since the commit is computed again
        commits_.give_up_incomplete();
        intent_.go_back();
    }
    const bool is_saved = commits_.latest() != nullptr; // what they are
    const std::vector<std::size_t> again =
        is_saved ? to_ask_again(gone, dealing_.wanted) : cast_.all();
    for (const std::size_t m : again)
        part_with(m, why);
    place(cast_, devices_, workers(), again);
    const std::string from =
        is_saved ? "phase " + std::to_string(commits_.phase()) : "the beginning";
    const std::string onward = // how those that replay go on is told when schedulers have answered
        replays ? cast_.describe(again) + (again.size() == 1 ? " takes over" : " take over")
                : "the run goes on from " + from + " with " + cast_.describe(again);
    tell(run_note{why.message() + "; it carried " + carried + "; " + onward});
    course_.actors_are_lost(replays);
    show_course();
    for (const std::size_t m : again)
        ask_for(m);
}

void leader::peer_lost(proto::PeerLost::Reader body, const frame& f) {
    const auto reporter = cast_.gone_with(f.from());
    const auto lost = cast_.gone_with(read_address(body.getActor()));
    if (reporter.size() != 1 || lost.size() != 1)
        return; // others are in their places already, or will be
    if (losses_.pairs.add(cast_.where(reporter.front()).node, cast_.where(lost.front()).node,
                          read_failure(body.getFailure())))
        after(until_pairs_are_decided, frame_builder<proto::LostPairsDue>{});
}

// The run has been told meanwhile of those that it has lost, too.
void leader::decide_pairs(proto::LostPairsDue::Reader, const frame& f) {
    if (f.from() != self())
        return reject("only the leader tells itself so");
    const auto agent_on = [](node_id node) { return actor_address{node, well_known::agent}; };
    const auto is_there = [&](node_id node) {
        return !cast_.gone_with(agent_on(node)).empty() &&
               std::ranges::any_of(runtime().peers(),
                                   [&](const peer_info& p) { return p.node == node; });
    };
    while (const auto leaver = losses_.pairs.next(is_there)) {
        if (course_.is_over())
            return;
        const actor_address agent = agent_on(leaver->node);
        const std::string name = name_of_node(runtime(), leaver->node);
        const error why{errc::cancelled,
                        "node " + name + " and node " + name_of_node(runtime(), leaver->by) +
                            " have lost each other, and the run, which reaches both, goes on "
                            "without node " +
                            name + ": " + leaver->why.message()};
        on_down(agent, why);
        unwatch(agent);
        send(agent, release_message(run(), why)); // it may be reached
    }
}

// It is asked for anew; if it is there it ends.
void leader::part_with(std::size_t member, const error& why) {
    if (const actor_address was = cast_.leave(member)) {
        unwatch(was);
        incarnation_.gone.push_back(was);
        send(cast_.agent_of(member), end_message(run(), {was}, why));
    }
    if (member < workers()) {
        dealing_.wanted[member] = true;
        dealing_.pieces[member] = 0;
    }
    ++dealing_.round;
    dealing_.source = dealing::source_state::idle;
    dealing_.unanswered = 0;
}

// ---- replay ----

// They have their data. They begin at once; schedulers send them nothing before all is ready.
void leader::start_lost_workers() {
    answers_.lost_workers.clear();
    answers_.replayed = 0;
    for (std::size_t w = 0; w < workers(); ++w)
        if (dealing_.wanted[w]) {
            answers_.lost_workers.push_back(w);
            incarnation_.workers[w] = cast_.address_of(w);
        }
    dealing_.wanted.assign(workers(), false);
    for (const std::size_t w : answers_.lost_workers)
        start(w);
    for (std::size_t s = 0; s < schedulers(); ++s) {
        answers_.started[workers() + s] = false;
        frame_builder<proto::ReplaceWorkers> message;
        auto body = message.body();
        body.setIncarnation(incarnation_.number);
        auto list = body.initWorkers(static_cast<capnp::uint>(answers_.lost_workers.size()));
        for (capnp::uint i = 0; i < list.size(); ++i) {
            const std::size_t w = answers_.lost_workers[i];
            list[i].setWorker(static_cast<std::uint32_t>(w));
            write_address(list[i].initAddress(), incarnation_.workers[w]);
            list[i].setNumber(commits_.phase());
        }
        send(incarnation_.schedulers[s], std::move(message));
    }
}

void leader::workers_replaced(proto::WorkersReplaced::Reader body, const frame& f) {
    const auto who = sender(body.getIncarnation(), f);
    if (!who || (!course_.is_starting() && *who >= workers()))
        return; // another actor is lost: all start again
    if (*who < workers() || !course_.is_of_lost_workers() || answers_.started[*who])
        return reject("the sender was not told of replaced workers");
    if (body.getForgotten()) {
        tell(run_note{"the phases since phase " + std::to_string(commits_.phase()) +
                      " are too many to be kept, so all go back to it; a smaller "
                      "checkpoint.every_seconds avoids that"});
        commits_.give_up_incomplete();
        intent_.go_back();
        course_.phases_are_forgotten();
        show_course();
        return start_incarnation();
    }
    answers_.started[*who] = true;
    answers_.replayed += body.getReplayed();
    begin_if_ready();
}

} // namespace troupe::scheduled
