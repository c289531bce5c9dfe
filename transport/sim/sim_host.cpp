// A host of the simulated network: requests of its process, and packets that arrive. Its links: sim_links.cpp.

#include <algorithm>

#include "transport/frame/wire.hpp"
#include "transport/sim/sim_state.hpp"

namespace troupe::sim {

namespace {

std::string describe(const peer_info& p) {
    return "node " + p.name + " (" + p.address + ")";
}

// The frame with its tensors where the receiver expects them, if it does. errc::protocol if they may not lie there.
result<frame_ptr> placed(named_places& places, const frame_ptr& f) {
    if (!f->place())
        return f;
    const wire::header h = wire::measure(*f).value();
    if (const auto ok = wire::check_place(h.place, *f); !ok)
        return ok.failure();
    tensor place = places.take(h.place, h.tensor_bytes);
    if (!place)
        return f;
    std::byte* to = place.mutable_data();
    for (const auto piece : wire::tensor_section(*f))
        to = std::ranges::copy(piece, to).out;
    std::vector<std::byte> words(h.words * sizeof(capnp::word));
    wire::write_words(*f, words);
    const buffer_ref& memory = place.storage();
    const auto at = static_cast<std::size_t>(place.data() - memory->data());
    return wire::read_frame(h, {.words = words, .buffer = memory, .tensors_at = at});
}

} // namespace

// --- what the process asks for

result<void> host::start(endpoint_listener& listener) {
    TROUPE_CHECK(life_ == life::fresh, "an endpoint is started once");
    const host* const there = net_.listening_at(options_.self.address);
    if (there != nullptr && there->state() == life::running)
        return error{errc::io,
                     "cannot listen on " + options_.self.address + ": the address is in use"};
    listener_ = &listener;
    life_ = life::running;
    return {};
}

void host::connect(const std::string& address) {
    if (life_ != life::running)
        return;
    host* to = net_.listening_at(address);
    if (to == nullptr || to == this) {
        const auto why = to == this ? error{errc::refused, address + " is this node itself"}
                                    : error{errc::unreachable, "nobody listens on " + address};
        report([this, address, why] { listener_->connect_failed(address, why); });
        return;
    }
    const std::uint64_t number = net_.next_link();
    link& l =
        links_.try_emplace(number, number, to->options().self.node, options_.bounds).first->second;
    l.state = link::phase::connecting;
    l.address = address;
    l.deadline = net_.events().schedule_after(net_.options().connect_timeout,
                                              [this, number] { handshake_expired(number); });
    retransmit(number);
}

send_status host::send(node_id peer, frame_ptr f) {
    const auto found = up_.find(peer);
    if (life_ != life::running || found == up_.end())
        return send_status::gone;
    if (!wire::measure(*f))
        return send_status::too_large;
    link& l = *find(found->second);
    const std::uint64_t bytes = f->bytes();
    if (l.window.overflows_with(bytes)) {
        disconnect(peer, error{errc::exhausted, "more than " +
                                                    std::to_string(options_.bounds.bytes_hard) +
                                                    " bytes are queued for the peer"});
        return send_status::gone;
    }
    ++statistics_.frames_sent;
    statistics_.bytes_sent += bytes;
    const bool congested = l.window.add(bytes);
    push(l, item{item::kind::data, std::move(f), bytes});
    return congested ? send_status::congested : send_status::accepted;
}

named_places* host::places_of(node_id peer) {
    return up_.contains(peer) ? &places_[peer] : nullptr;
}

void host::disconnect(node_id peer, error why) {
    const auto found = up_.find(peer);
    if (life_ != life::running || found == up_.end())
        return;
    const std::uint64_t number = found->second;
    reset(*find(number), error{errc::refused, "it gave up the connection: " + why.message()});
    end(number, std::move(why));
}

void host::close() {
    if (life_ != life::running) {
        if (life_ == life::fresh)
            life_ = life::closed;
        return;
    }
    life_ = life::closed;
    held_.clear();
    up_.clear();
    places_.clear();
    std::vector<std::uint64_t> half_done;
    for (auto& [number, l] : links_) {
        if (l.state == link::phase::up) {
            l.state = link::phase::closing;
            push(l, item{item::kind::goodbye, nullptr, 0});
        } else {
            half_done.push_back(number);
        }
    }
    for (const std::uint64_t number : half_done) {
        reset(*find(number), error{errc::unreachable, describe(options_.self) + " has closed"});
        forget(number);
    }
}

void host::die(life how) {
    while (!links_.empty()) {
        const link& l = links_.begin()->second;
        if (how == life::dead)
            reset(l, error{errc::lost, "the process of " + describe(options_.self) + " has died"});
        forget(l.number);
    }
    life_ = how;
    held_.clear();
    up_.clear();
    places_.clear();
}

void host::resume() {
    stopped_ = false;
    while (!held_.empty() && !stopped_) {
        const auto next = std::move(held_.front());
        held_.pop_front();
        in_process(next);
    }
    net_.events().schedule_after({}, [this] { deliver_reports(); });
}

void host::in_process(std::function<void()> what) {
    if (life_ != life::running)
        return;
    if (stopped_)
        held_.push_back(std::move(what));
    else
        what();
}

void host::report(std::function<void()> what) {
    reports_.push_back(std::move(what));
    if (!arriving_ && reports_.size() == 1)
        net_.events().schedule_after({}, [this] { deliver_reports(); });
}

void host::deliver_reports() {
    while (!reports_.empty() && life_ == life::running && !stopped_) {
        const auto next = std::move(reports_.front());
        reports_.pop_front();
        next();
    }
}

// --- packets

void host::arrive(packet p) {
    if (life_ == life::off)
        return;
    arriving_ = true;
    admit(std::move(p));
    arriving_ = false;
    deliver_reports();
}

void host::hear(std::uint64_t number) {
    const link* l = find(number);
    if (l != nullptr && l->state == link::phase::up && acts())
        report([this, peer = l->peer] { listener_->peer_alive(peer); });
}

void host::admit(packet p) {
    const bool known = links_.contains(p.link);
    if (p.what == packet::kind::connect && life_ == life::running && !ended_.contains(p.link)) {
        in_process([this, p] { connect_arrived(p); });
    } else if (!known) {
        // The host responds for a process that is gone or has ended this connection.
        if (p.what == packet::kind::reset)
            return;
        packet answer{packet::kind::reset, p.link, options_.self.node, p.from};
        answer.why =
            p.what == packet::kind::connect
                ? error{errc::unreachable, "nobody listens on " + options_.self.address}
                : error{errc::lost, describe(options_.self) + " no longer has this connection"};
        net_.transmit(std::move(answer));
    } else {
        switch (p.what) {
        case packet::kind::connect:
            break;
        case packet::kind::welcome:
            in_process([this, number = p.link] { welcome_arrived(number); });
            break;
        case packet::kind::item:
            item_arrived(std::move(p));
            break;
        case packet::kind::acknowledge:
            acknowledge_arrived(p);
            break;
        case packet::kind::probe:
            acknowledge(*find(p.link));
            break;
        case packet::kind::reset:
            reset_arrived(p);
            break;
        }
    }
}

void host::connect_arrived(const packet& p) {
    if (ended_.contains(p.link))
        return;
    if (p.key != options_.key) {
        ++statistics_.handshakes_refused;
        ended_.insert(p.link);
        packet answer{packet::kind::reset, p.link, options_.self.node, p.from};
        answer.why = error{errc::refused, describe(options_.self) + " holds another key"};
        net_.transmit(std::move(answer));
        return;
    }
    const auto [entry, is_new] = links_.try_emplace(p.link, p.link, p.from, options_.bounds);
    link& l = entry->second;
    net_.transmit(make_packet(packet::kind::welcome, l));
    if (!is_new)
        return;
    l.deadline = net_.events().schedule_after(
        net_.options().connect_timeout, [this, number = p.link] { handshake_expired(number); });
    decide(l);
}

void host::welcome_arrived(std::uint64_t number) {
    link* l = find(number);
    if (l == nullptr || l->state != link::phase::connecting)
        return;
    l->state = link::phase::half_open;
    // Otherwise the first item would never be retransmitted.
    net_.events().cancel(std::exchange(l->retransmit, {}));
    decide(*l);
}

void host::decide(link& l) {
    if (options_.self.node > l.peer)
        return; // the other end decides
    if (up_.contains(l.peer)) {
        reset(l, std::nullopt);
        end(l.number, std::nullopt);
        return;
    }
    push(l, item{item::kind::up, nullptr, 0});
    go_up(l);
}

void host::go_up(link& l) {
    // The peer accepts a second connection only if it has lost the first.
    if (const auto old = up_.find(l.peer); old != up_.end())
        end(old->second, error{errc::lost, "the peer has lost the connection"});
    l.state = link::phase::up;
    up_[l.peer] = l.number;
    net_.events().cancel(l.deadline);
    report([this, peer = net_.host_of(l.peer)->options().self] { listener_->peer_up(peer); });
}

void host::item_arrived(packet p) {
    const std::uint64_t number = p.link;
    link& l = *find(number);
    if (l.state == link::phase::connecting)
        return; // overtook the welcome; is retransmitted
    auto due = l.in.admit(p.sequence, std::move(p.item));
    net_.statistics.packets_out_of_order += due.empty() ? 1 : 0;
    if (due.empty() || stopped_ || life_ != life::running)
        acknowledge(l);
    for (item& i : due) {
        link* const still = find(number); // an item may end it
        if (still == nullptr)
            return;
        if (still->state == link::phase::closing)
            still->in.consumed();
        else
            in_process([this, number, i = std::move(i)] { consume(number, i); });
    }
}

void host::consume(std::uint64_t number, const item& i) {
    link* l = find(number);
    if (l == nullptr)
        return;
    l->in.consumed();
    acknowledge(*l);
    const node_id peer = l->peer;
    switch (i.what) {
    case item::kind::up:
        go_up(*l);
        break;
    case item::kind::goodbye:
        end(number, error{errc::cancelled, "it was stopped"});
        break;
    case item::kind::data:
        const auto data = placed(places_[peer], i.data);
        if (!data) {
            ++statistics_.frames_malformed;
            return disconnect(peer, data.failure());
        }
        ++statistics_.frames_received;
        statistics_.bytes_received += i.bytes;
        report([this, peer, f = *data] { listener_->frame_arrived(peer, f); });
        break;
    }
}

void host::acknowledge_arrived(const packet& p) {
    link& l = *find(p.link);
    if (l.state == link::phase::connecting)
        return;
    l.backoff = 0;
    l.waiting_since = net_.events().now();
    bool writable = false;
    for (const item& i : l.out.acknowledged(p.heard))
        if (i.what == item::kind::data)
            writable |= l.window.remove(i.bytes);
    net_.events().cancel(l.retransmit);
    if (l.out.empty() && l.state == link::phase::closing) {
        forget(p.link);
        return;
    }
    arm_retransmit(l);
    if (writable && l.state == link::phase::up)
        report([this, peer = l.peer] { listener_->peer_writable(peer); });
}

void host::reset_arrived(const packet& p) {
    end(p.link, p.why);
}

} // namespace troupe::sim
