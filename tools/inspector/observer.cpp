#include "tools/inspector/observer.hpp"

#include <algorithm>

#include "tools/inspector/printable.hpp"

namespace troupe::inspector {

namespace {

constexpr actor_number own_actor{16}; // where answers go; any number will do, no actor lives here
constexpr duration glance = std::chrono::milliseconds{100}; // between two looks at `stop`
constexpr std::size_t departed_max = 1024;

std::size_t size_of(const frame& f) {
    std::size_t bytes = sizeof(frame) + f.tensor_bytes();
    for (const auto& segment : f.segments())
        bytes += segment.size() * sizeof(capnp::word);
    return bytes;
}

error interrupted() {
    return {errc::cancelled, "stopped before the cluster had answered"};
}

} // namespace

observer::observer(endpoint& network, const time_source& time, options o)
    : network_{network}, time_{time}, options_{std::move(o)} {}

observer::~observer() {
    network_.close();
}

result<void> observer::start() {
    return network_.start(*this);
}

// ---- what arrives, on the endpoint's thread ----

void observer::peer_up(const peer_info& peer) {
    const std::lock_guard held{lock_};
    peers_[peer.node] = peer;
    new_peers_.push_back(peer);
    changed_.notify_all();
}

void observer::frame_arrived(node_id from, frame_ptr f) {
    const std::size_t bytes = size_of(*f);
    {
        const std::lock_guard held{lock_};
        if (arrived_bytes_ + bytes <= waiting_bytes_max) {
            arrived_bytes_ += bytes;
            arrived_.push_back({from, std::move(f)});
            changed_.notify_all();
            return;
        }
    }
    network_.disconnect(from, {errc::exhausted, "it sent more than it was asked for"});
}

void observer::peer_down(node_id peer, const error& why) {
    const std::lock_guard held{lock_};
    const auto found = peers_.find(peer);
    if (found == peers_.end())
        return;
    if (departed_.size() < departed_max)
        departed_.push_back({found->second, why});
    peers_.erase(found);
    changed_.notify_all();
}

void observer::connect_failed(const std::string& address, const error& why) {
    const std::lock_guard held{lock_};
    failed_.insert_or_assign(address, why);
    changed_.notify_all();
}

// ---- waiting ----

template <class Condition>
bool observer::wait_until(std::unique_lock<std::mutex>& held, duration length,
                          Condition condition) {
    const time_point end = time_.now() + length;
    while (!condition()) {
        const duration left = end - time_.now();
        if (left <= duration{} || stopped())
            return false;
        changed_.wait_for(held, std::min(left, glance));
    }
    return true;
}

result<peer_info> observer::connect(const std::string& address) {
    {
        const std::lock_guard held{lock_};
        failed_.erase(address);
        new_peers_.clear();
    }
    network_.connect(address);
    std::unique_lock held{lock_};
    // The endpoint ends every attempt itself; a little more than its time-out is only for one that forgets to.
    const bool ended = wait_until(held, options_.patience + std::chrono::seconds{2},
                                  [&] { return !new_peers_.empty() || failed_.contains(address); });
    if (!new_peers_.empty()) {
        peer_info peer = std::move(new_peers_.front());
        new_peers_.pop_front();
        return peer;
    }
    if (const auto failure = failed_.find(address); failure != failed_.end())
        return error{failure->second.code(), "cannot connect to " + printable(address) + ": " +
                                                 printable(failure->second.message(), 512)};
    if (!ended && stopped())
        return interrupted();
    return error{errc::unreachable, "no node answers at " + printable(address)};
}

observer::connected observer::connect_all(const std::vector<std::string>& addresses,
                                          duration length) {
    {
        const std::lock_guard held{lock_};
        for (const std::string& address : addresses)
            failed_.erase(address);
        new_peers_.clear();
    }
    for (const std::string& address : addresses)
        network_.connect(address);
    std::unique_lock held{lock_};
    connected all;
    const auto take = [&] {
        all.failed.clear();
        for (const std::string& address : addresses)
            if (const auto failure = failed_.find(address); failure != failed_.end())
                all.failed.insert(*failure);
        return all.failed.size() + new_peers_.size() >= addresses.size();
    };
    wait_until(held, length, take);
    all.peers = {new_peers_.begin(), new_peers_.end()};
    new_peers_.clear();
    return all;
}

// The first arrival that is wanted, taken from the queue; null if there is none. Under the lock.
frame_ptr observer::take_if(const std::function<bool(const arrival&)>& wanted) {
    const auto found = std::ranges::find_if(arrived_, wanted);
    if (found == arrived_.end())
        return nullptr;
    frame_ptr f = std::move(found->message);
    arrived_.erase(found);
    arrived_bytes_ -= size_of(*f);
    return f;
}

std::uint64_t observer::stamp(actor_address to, proto::Envelope::Builder envelope) {
    envelope.getFrom().setNode(options_.self.value());
    envelope.getFrom().setActor(own_actor.value());
    envelope.getTo().setNode(to.node.value());
    envelope.getTo().setActor(to.actor.value());
    envelope.setSequence(++sequence_);
    envelope.setSentNs(time_.now().ns);
    return sequence_;
}

result<frame_ptr> observer::send_and_wait(actor_address to, std::uint64_t sequence,
                                          frame_ptr question, std::uint64_t answer) {
    if (network_.send(to.node, std::move(question)) == send_status::gone)
        return error{errc::lost, name_of(to.node) + " is gone"};
    auto answered = [&]() -> result<frame_ptr> {
        try {
            return wait_for_answer(to, sequence, answer);
        } catch (const kj::Exception& malformed) {
            return give_up_unreadable(to.node, malformed.getDescription().cStr());
        }
    }();
    if (!answered && answered.failure().code() == errc::lost)
        give_up(to.node, answered.failure());
    return answered;
}

result<frame_ptr> observer::wait_for_answer(actor_address to, std::uint64_t sequence,
                                            std::uint64_t answer) {
    const auto is_answer = [&](const arrival& a) {
        if (a.from != to.node)
            return false;
        return a.message->body_type() == answer ||
               (a.message->body_type() == type_id_of<proto::Rejected>() &&
                a.message->body<proto::Rejected>().getSequence() == sequence);
    };
    frame_ptr f;
    std::unique_lock held{lock_};
    const bool over = wait_until(held, options_.patience, [&] {
        f = take_if(is_answer);
        return f != nullptr || !peers_.contains(to.node);
    });
    held.unlock();
    if (f && f->body_type() == answer)
        return f;
    if (f)
        return error{errc::refused,
                     name_of(to.node) +
                         " says: " + printable(f->body<proto::Rejected>().getReason().cStr(), 512)};
    if (over)
        return error{errc::lost, name_of(to.node) + " went away"};
    if (stopped())
        return interrupted();
    return error{errc::lost, name_of(to.node) + " has not answered for " +
                                 duration_text(options_.patience.count())};
}

std::optional<observer::arrival> observer::next(std::uint64_t type, duration wait) {
    std::optional<arrival> found;
    std::unique_lock held{lock_};
    wait_until(held, wait, [&] {
        while (!found && !arrived_.empty()) {
            arrival a = std::move(arrived_.front());
            arrived_.pop_front();
            arrived_bytes_ -= size_of(*a.message);
            if (a.message->body_type() == type)
                found = std::move(a);
        }
        return found.has_value() || !departed_.empty();
    });
    return found;
}

bool observer::rest(duration length) {
    std::unique_lock held{lock_};
    wait_until(held, length, [] { return false; });
    return !stopped();
}

std::vector<observer::departure> observer::departures() {
    const std::lock_guard held{lock_};
    return std::exchange(departed_, {});
}

bool observer::await_departure(node_id node) {
    std::unique_lock held{lock_};
    return wait_until(held, options_.patience, [&] { return !peers_.contains(node); });
}

void observer::give_up(node_id node, error why) {
    network_.disconnect(node, std::move(why));
}

error observer::give_up_unreadable(node_id node, const std::string& problem) {
    const error why{errc::lost,
                    name_of(node) + " sends what cannot be read: " + printable(problem, 256)};
    give_up(node, {errc::protocol, "it sends what cannot be read: " + problem});
    return why;
}

std::string observer::name_of(node_id node) const {
    const std::lock_guard held{lock_};
    if (const auto found = peers_.find(node); found != peers_.end())
        return "node " + printable(found->second.name) + " (" + printable(found->second.address) +
               ")";
    for (const departure& d : departed_)
        if (d.peer.node == node)
            return "node " + printable(d.peer.name) + " (" + printable(d.peer.address) + ")";
    return "the node " + hex_text(node.value());
}

} // namespace troupe::inspector
