#include "actors/run/patience.hpp"

#include <algorithm>
#include <utility>

#include "actors/runtime/well_known.hpp"

namespace troupe {

namespace {

std::string seconds_text(duration time) {
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

} // namespace

// ---- answer_ages ----

void answer_ages::answered(node_id member) {
    if (const auto found = ages_.find(member); found != ages_.end())
        found->second = {.moved = found->second.moved};
}

answer_ages::late_members answer_ages::tick(time_point now,
                                            const std::function<std::uint64_t(node_id)>& moved) {
    const duration passed = now - last_tick_.value_or(now);
    const bool slept = passed > 2 * times_.interval;
    last_tick_ = now;
    late_members late;
    for (auto& [member, its] : ages_) {
        const std::uint64_t before = std::exchange(its.moved, moved(member));
        const bool is_moving = its.moved >= before + moving_bytes;
        if (!its.asked_at || slept) {
            its.asked_at.reset();
            if (is_moving)
                continue;
            its.asked_at = now;
            late.due.push_back(member);
        } else if (is_moving) {
            its.asked_at = std::min(*its.asked_at + passed, now);
        } else if (const duration age = now - *its.asked_at;
                   times_.give_up > duration{} && age > times_.give_up) {
            late.given_up.push_back(member);
        } else if (age > times_.tell && !std::exchange(its.is_told, true)) {
            late.told.push_back(member);
        }
    }
    for (const node_id member : late.given_up)
        ages_.erase(member);
    return late;
}

// ---- patience_actor ----

patience_actor::patience_actor(actor_context& context, patience_options options)
    : actor{context}, options_{std::move(options)}, ages_{options_.times} {
    on<proto::MemberList>(&patience_actor::members_listed);
    on<proto::NodeJoined>(&patience_actor::node_joined);
    on<proto::NodeLost>(&patience_actor::node_lost);
    on<proto::HereIAm>(&patience_actor::here);
    on<proto::QuestionDue>(&patience_actor::ask);
}

void patience_actor::on_start() {
    send({self().node, well_known::cluster}, frame_builder<proto::Subscribe>{});
    after(options_.times.interval, frame_builder<proto::QuestionDue>{});
}

// Runs have no agent that matters to others.
void patience_actor::expect(proto::Member::Reader member) {
    const node_id node{member.getNode()};
    if (member.getRole() != proto::Role::MEMBER || node == self().node)
        return;
    names_[node] = member.getName();
    ages_.expect(node);
}

bool patience_actor::is_of_cluster(const frame& f) const {
    return f.from() == actor_address{self().node, well_known::cluster};
}

void patience_actor::members_listed(proto::MemberList::Reader body, const frame& f) {
    if (!is_of_cluster(f))
        return reject("it is the cluster actor of this node that tells of members");
    for (const auto member : body.getMembers())
        expect(member);
}

void patience_actor::node_joined(proto::NodeJoined::Reader body, const frame& f) {
    if (!is_of_cluster(f))
        return reject("it is the cluster actor of this node that tells of members");
    expect(body.getMember());
}

void patience_actor::node_lost(proto::NodeLost::Reader body, const frame& f) {
    if (!is_of_cluster(f))
        return reject("it is the cluster actor of this node that tells of members");
    ages_.forget(node_id{body.getNode()});
    names_.erase(node_id{body.getNode()});
}

void patience_actor::here(proto::HereIAm::Reader, const frame& f) {
    ages_.answered(f.from().node);
}

// A refusal is an answer.
void patience_actor::on_rejected(proto::Rejected::Reader, const frame& f) {
    ages_.answered(f.from().node);
}

void patience_actor::ask(proto::QuestionDue::Reader, const frame&) {
    const auto late = ages_.tick(now(), [&](node_id node) { return runtime().bytes_moved(node); });
    const duration patience = options_.times.give_up;
    for (const node_id node : late.told)
        options_.note("node " + names_[node] +
                      " sends heartbeats over an idle link, but has answered nothing for " +
                      seconds_text(options_.times.tell) + ": it hangs, and " +
                      (patience > duration{}
                           ? "is given up after " + seconds_text(patience) + " (--patience)"
                           : "is waited for, as --patience 0 says"));
    for (const node_id node : late.given_up)
        runtime().disconnect(node,
                             error{errc::lost, "no answer for " + seconds_text(patience) +
                                                   ", though heartbeats come over an idle link "
                                                   "(--patience)"});
    for (const node_id node : late.due)
        send({node, well_known::agent}, frame_builder<proto::AreYouThere>{});
    after(options_.times.interval, frame_builder<proto::QuestionDue>{});
}

} // namespace troupe
