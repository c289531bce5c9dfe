#include "actors/cluster/cluster_actor.hpp"

#include <algorithm>
#include <utility>

#include "actors/runtime/failure.hpp"
#include "actors/runtime/link_messages.hpp"

namespace troupe {

namespace {

constexpr duration join_timeout = std::chrono::seconds{10};

actor_address cluster_of(node_id node) {
    return {node, well_known::cluster};
}

member_info describe_self(const node_runtime& runtime, const cluster_options& options) {
    return {.node = runtime.node(),
            .name = runtime.options().name,
            .address = {},
            .role = options.role,
            .devices = options.devices};
}

std::string in_milliseconds(duration time) {
    const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    return std::to_string(count) + " ms";
}

// "node b"; the names of runs say that they are runs.
std::string described(const member_info& m) {
    return (m.role == peer_role::member ? "node " : "") + m.name;
}

} // namespace

cluster_actor::cluster_actor(actor_context& context, cluster_options options)
    : actor{context}, options_{std::move(options)}, members_{describe_self(runtime(), options_)},
      progress_{options_.join}, judge_{options_.heartbeat} {
    on<proto::Listening>(&cluster_actor::listening);
    on<proto::PeerUp>(&cluster_actor::peer_up);
    on<proto::PeerDown>(&cluster_actor::peer_down);
    on<proto::ConnectFailed>(&cluster_actor::connect_failed);
    on<proto::Join>(&cluster_actor::take_join);
    on<proto::Welcome>(&cluster_actor::take_welcome);
    on<proto::Refused>(&cluster_actor::take_refusal);
    on<proto::Heartbeat>(&cluster_actor::take_heartbeat);
    on<proto::Goodbye>(&cluster_actor::take_goodbye);
    on<proto::HeartbeatDue>(&cluster_actor::beat);
    on<proto::Subscribe>(&cluster_actor::take_subscription);
    on<proto::ListMembers>(&cluster_actor::list_members);
}

void cluster_actor::on_start() {
    runtime().subscribe_peers(self());
}

void cluster_actor::on_end() {
    for (const node_id node : members_.others())
        send(cluster_of(node), frame_builder<proto::Goodbye>{});
}

// ---- peers ----

void cluster_actor::listening(proto::Listening::Reader news, const frame&) {
    members_.set_address(news.getAddress());
    join_deadline_ = now() + join_timeout;
    if (!options_.join.empty())
        runtime().connect(options_.join);
    check_joined();
    after(options_.heartbeat.interval, frame_builder<proto::HeartbeatDue>{});
}

void cluster_actor::peer_up(proto::PeerUp::Reader news, const frame&) {
    if (news.getRole() == proto::Role::OBSERVER)
        return;
    const node_id node{news.getNode()};
    missing_.answered(node, news.getAddress());
    if (progress_.now() == join_progress::state::joining || missing_.looks_for(node))
        ask_to_join(node);
}

void cluster_actor::peer_down(proto::PeerDown::Reader news, const frame&) {
    const node_id node{news.getNode()};
    progress_.lost(node);
    remove(node, read_failure(news.getFailure()));
    check_joined();
}

void cluster_actor::connect_failed(proto::ConnectFailed::Reader news, const frame&) {
    const error why = read_failure(news.getFailure());
    progress_.unreachable(news.getAddress(), why);
    if (progress_.now() == join_progress::state::failed)
        give_up_join(why);
    // Before the end of joining its outcome says so.
    if (const std::string name = missing_.unreachable(news.getAddress()); !name.empty())
        log(unreached_text({{}, name, news.getAddress(), why.message()}) +
            "; this node goes on trying for a day");
    check_joined();
}

// ---- members ----

void cluster_actor::ask_to_join(node_id node) {
    frame_builder<proto::Join> request;
    write_member(request.body().initMember(), members_.self());
    send(cluster_of(node), std::move(request));
}

result<bool> cluster_actor::admit(const member_info& m) {
    const result<bool> admitted = members_.admit(m);
    if (!admitted)
        return admitted;
    judge_.watch(m.node, m.role, now());
    missing_.found(m);
    if (!*admitted)
        return admitted;
    const std::string over = peer(m.node).over;
    log(described(m) + " (" + m.address + ") has joined" + (over.empty() ? "" : ", over " + over));
    for (const actor_address subscriber : subscribers_) {
        frame_builder<proto::NodeJoined> news;
        write_member(news.body().initMember(), m);
        send(subscriber, std::move(news));
    }
    return admitted;
}

bool cluster_actor::would_look_for(const member_info& m) const {
    return options_.role == peer_role::member && m.role == peer_role::member;
}

void cluster_actor::look_for_unknown(const std::vector<member_info>& named) {
    for (const member_info& m : named)
        if (would_look_for(m) && !members_.contains(m.node))
            missing_.look_for(m, missing_members::cause::never_met, now());
}

void cluster_actor::remove(node_id node, const error& why) {
    judge_.forget(node);
    const auto gone = members_.remove(node);
    if (!gone)
        return;
    const bool has_left = why.code() == errc::cancelled;
    const bool is_sought = !has_left && would_look_for(*gone);
    if (is_sought)
        missing_.look_for(*gone, missing_members::cause::lost, now());
    log(described(*gone) + (has_left ? " has left" : " is lost: " + why.message()) +
        (is_sought ? "; this node goes on trying to reach it for a day" : ""));
    for (const actor_address subscriber : subscribers_) {
        frame_builder<proto::NodeLost> news;
        news.body().setNode(node.value());
        news.body().setName(gone->name);
        write_failure(news.body().initFailure(), why);
        send(subscriber, std::move(news));
    }
}

// The peer as the transport knows it; empty if the connection has just ended.
peer_info cluster_actor::peer(node_id node) const {
    for (const peer_info& p : runtime().peers())
        if (p.node == node)
            return p;
    return {};
}

// The sender's description of itself, except for its address: a node that listens on all addresses of its machine does not
// know which of them others reach it by. The transport does.
result<member_info> cluster_actor::read_sender(proto::Member::Reader said, const frame& f) const {
    auto m = read_member(said);
    if (!m)
        return m;
    if (m->node != f.from().node)
        return error{errc::protocol, "a node joins in its own name"};
    if (const peer_info known = peer(m->node); !known.address.empty()) {
        if (m->role != known.role)
            return error{errc::protocol, "a node joins in the role that it has proven"};
        m->address = known.address;
    }
    if (auto checked = check_member(*m); !checked)
        return checked.failure();
    return m;
}

void cluster_actor::take_join(proto::Join::Reader request, const frame& f) {
    const auto newcomer = read_sender(request.getMember(), f);
    if (!newcomer)
        return reject(newcomer.failure().message());
    const std::vector<member_info> before = members_.list();
    const bool was_asked =
        progress_.now() == join_progress::state::joining || missing_.looks_for(newcomer->node);
    const auto admitted = admit(*newcomer);
    if (!admitted) {
        frame_builder<proto::Refused> answer;
        answer.body().setText(admitted.failure().message());
        return send(f.from(), std::move(answer));
    }
    if (members_.self().address.empty()) // a peer's Join may arrive before our own Listening
        members_.set_address(runtime().listen_address());
    frame_builder<proto::Welcome> answer;
    write_member(answer.body().initMember(), members_.self());
    std::vector<member_info> others;
    for (const member_info& m : before)
        if (m.node != self().node && m.node != newcomer->node)
            others.push_back(m);
    write_members(answer.body().initOthers(static_cast<unsigned>(others.size())), others);
    send(f.from(), std::move(answer));
    if (*admitted && !was_asked && would_look_for(*newcomer))
        ask_to_join(newcomer->node); // for the members that it knows and this node does not
}

void cluster_actor::take_welcome(proto::Welcome::Reader answer, const frame& f) {
    const auto by = read_sender(answer.getMember(), f);
    if (!by)
        return reject(by.failure().message());
    const auto named = read_members(answer.getOthers());
    if (!named)
        return reject(named.failure().message());
    if (const auto admitted = admit(*by); !admitted) {
        progress_.refused();
        return give_up_join(admitted.failure());
    }
    for (const member_info& stranger : progress_.welcomed(*by, *named, members_))
        runtime().connect(stranger.address);
    look_for_unknown(*named);
    check_joined();
}

void cluster_actor::take_refusal(proto::Refused::Reader answer, const frame& f) {
    const std::string why = read_reason(answer.getText());
    if (missing_.refused(f.from().node))
        log("node " + peer(f.from().node).name +
            " does not take this node, which goes on trying for a day: " + why);
    progress_.refused();
    give_up_join({errc::refused, why});
}

void cluster_actor::take_goodbye(proto::Goodbye::Reader, const frame& f) {
    progress_.lost(f.from().node);
    missing_.forget(f.from().node);
    remove(f.from().node, {errc::cancelled, "it left the cluster"});
    check_joined();
}

void cluster_actor::log(const std::string& sentence) const {
    if (join_reported_ && options_.log)
        options_.log(sentence);
}

// ---- joining ----

void cluster_actor::report_join(const result<std::vector<unreached_member>>& outcome) {
    if (!std::exchange(join_reported_, true) && options_.joined)
        options_.joined(outcome);
}

void cluster_actor::check_joined() {
    if (progress_.now() == join_progress::state::joined)
        report_join(progress_.unreached());
}

void cluster_actor::give_up_join(const error& why) {
    report_join(why.in("cannot join the cluster at " + options_.join));
}

// ---- heartbeats ----

// Empty: the arrival is the information, and the runtime has recorded it as for any other message; see beat().
void cluster_actor::take_heartbeat(proto::Heartbeat::Reader, const frame&) {}

void cluster_actor::beat(proto::HeartbeatDue::Reader, const frame&) {
    ++beats_;
    for (const node_id node : members_.others()) {
        frame_builder<proto::Heartbeat> beat;
        beat.body().setCount(beats_);
        send(cluster_of(node), std::move(beat));
        if (const auto last = runtime().last_heard(node))
            judge_.heard(node, *last);
    }
    const auto silent = judge_.tick(now());
    for (const node_id node : silent.lost) {
        const heartbeat_times& times = options_.heartbeat;
        const bool is_run = members_.find(node)->role == peer_role::client;
        const error why{errc::lost, is_run ? "no heartbeat of this run for " +
                                                 in_milliseconds(times.run_timeout) +
                                                 ", as it was stopped or cut off "
                                                 "(--run-timeout-ms)"
                                           : "no heartbeat for " + in_milliseconds(times.timeout)};
        runtime().disconnect(node, why);
        remove(node, why);
    }
    for (const node_id node : silent.waiting)
        log("no heartbeat of " + described(*members_.find(node)) + " for " +
            in_milliseconds(options_.heartbeat.timeout) +
            ": it is stopped or cut off, and is waited for " +
            in_milliseconds(options_.heartbeat.run_timeout) + " (--run-timeout-ms)");
    for (const node_id node : silent.back)
        log("heartbeats of " + described(*members_.find(node)) + " come again");
    for (const auto& [node, address] : missing_.due(now()))
        if (peer(node).node == node) // it has refused before, or its answer is under way
            ask_to_join(node);
        else
            runtime().connect(address);
    if (progress_.now() == join_progress::state::joining && now() >= join_deadline_) {
        progress_.refused();
        give_up_join({errc::unreachable, "no welcome in time"});
    }
    after(options_.heartbeat.interval, frame_builder<proto::HeartbeatDue>{});
}

// ---- questions ----

void cluster_actor::send_members(actor_address to) {
    frame_builder<proto::MemberList> answer;
    const auto members = members_.list();
    write_members(answer.body().initMembers(static_cast<unsigned>(members.size())), members);
    const auto linked = told_links(runtime().peers());
    write_links(answer.body().initLinks(static_cast<unsigned>(linked.size())), linked);
    send(to, std::move(answer));
}

void cluster_actor::take_subscription(proto::Subscribe::Reader, const frame& f) {
    if (!f.from())
        return reject("only an actor can subscribe");
    if (std::find(subscribers_.begin(), subscribers_.end(), f.from()) == subscribers_.end()) {
        subscribers_.push_back(f.from());
        watch(f.from());
    }
    send_members(f.from());
}

void cluster_actor::list_members(proto::ListMembers::Reader, const frame& f) {
    send_members(f.from());
}

void cluster_actor::on_down(actor_address subscriber, const error&) {
    std::erase(subscribers_, subscriber);
}

} // namespace troupe
