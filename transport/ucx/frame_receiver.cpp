#include "transport/ucx/frame_receiver.hpp"

#include <algorithm>
#include <string>

#include "transport/handshake/handshake.hpp"

namespace troupe {

namespace {

// Bounds on concurrent transfers per peer. Frames are delivered in order: if all announced frames were transferred
// concurrently, the first would be late, and all would need memory, more than the caches hold, whereas a few buffers in
// turn suffice. Two, so that the link is not idle between one and the next; more while they are small.
constexpr std::size_t transfers_min = 2;
constexpr std::uint64_t transfer_bytes_max = 1u << 20;

error broken(const std::string& what) {
    return {errc::protocol, what};
}

// Offset of the tensors in the data of a message, see wire.md.
std::size_t tensors_offset(const wire::header& h, bool words_in_data) {
    return words_in_data ? wire::aligned(h.words * sizeof(capnp::word)) : 0;
}

std::size_t expected_data_bytes(const wire::header& h, bool words_in_data) {
    if (h.tensors == 0)
        return words_in_data ? h.words * sizeof(capnp::word) : 0;
    return tensors_offset(h, words_in_data) + h.tensor_bytes;
}

result<frame_ptr> assemble(const wire::header& h, std::span<const std::byte> words,
                           data_room room) {
    const bool words_in_data = words.empty();
    wire::parts received;
    received.words_in_buffer = words_in_data;
    received.words = words_in_data
                         ? std::span<const std::byte>{room.begin(), h.words * sizeof(capnp::word)}
                         : words;
    received.tensors_at = room.at + tensors_offset(h, words_in_data);
    received.buffer = std::move(room.buffer);
    return wire::read_frame(h, std::move(received));
}

// Memory of an arrival outside the pool until it is reported, without its data.
std::size_t overhead_bytes(const arrival& a) {
    return sizeof a + a.words.size();
}

// Lines that come from another core take 100 ns and more each; asked for at once they come together. The processor asks for
// what follows them by itself.
void fetch(std::span<const std::byte> bytes) {
    constexpr std::size_t line = 64;
    constexpr std::size_t lines_max = 16;
    for (std::size_t at = 0; at < std::min(bytes.size(), lines_max * line); at += line)
        __builtin_prefetch(bytes.data() + at);
}

bool needs_buffer(const wire::header& h, std::size_t data_bytes) {
    return data_bytes > 0 || h.tensors > 0;
}

} // namespace

frame_receiver::frame_receiver(const link_settings& settings)
    : settings_{settings}, pool_{*settings.pool}, time_{*settings.time} {}

void frame_receiver::add(peer_state& peer) {
    peer.ucx->receiver = this;
    peer.ucx->worker->receive_with(&frame_receiver::message, &peer);
}

void frame_receiver::remove(peer_state& peer) {
    peer.ucx->state = link_state::over;
    std::erase_if(waiting_, [&](const auto& waiting) { return waiting.get() == &peer; });
    for (const auto& a : peer.ucx->arrived.waiting)
        if (a->rendezvous != nullptr)
            ucp_am_data_release(peer.ucx->worker->get(), std::exchange(a->rendezvous, nullptr));
    peer.ucx->arrived.waiting.clear();
    peer.ucx->arrived.placed = 0;
}

void frame_receiver::release(peer_state& peer) {
    if (peer.ucx->state == link_state::early)
        peer.ucx->state = link_state::up;
    deliver_ready(peer);
}

void frame_receiver::abandon(const peer_state& peer) {
    std::erase_if(transfers_, [&](const auto& entry) { return entry.first->peer.get() == &peer; });
}

ucs_status_t frame_receiver::message(void* peer, const void* header, std::size_t header_bytes,
                                     void* data, std::size_t data_bytes,
                                     const ucp_am_recv_param_t* param) {
    const std::span head{static_cast<const std::byte*>(header), header_bytes};
    // UCX announces messages without data, too, if it is told to announce small ones (UCX_RNDV_THRESH). There is nothing to
    // transfer then, and UCX 1.13 crashes where such a rendezvous is released within this callback.
    const bool is_rendezvous =
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 && data_bytes > 0;
    fetch(head);
    if (!is_rendezvous)
        fetch({static_cast<const std::byte*>(data), data_bytes});
    const auto from = static_cast<peer_state*>(peer)->shared_from_this();
    return from->ucx->receiver->admit(from, head, data, data_bytes, is_rendezvous);
}

// UCS_OK drops the data, also of a rendezvous; UCS_INPROGRESS takes over the rendezvous.
ucs_status_t frame_receiver::admit(const std::shared_ptr<peer_state>& peer,
                                   std::span<const std::byte> head, void* data,
                                   std::size_t data_bytes, bool is_rendezvous) {
    if (!peer->ucx->is_heard())
        return UCS_OK;
    const auto h = wire::read_header(head);
    if (!h || !same_token(peer->receive_token, h->token)) {
        ++unattributed;
        return UCS_OK;
    }
    const auto words = head.subspan(wire::header_bytes);
    const bool words_in_data = words.empty();
    if (h->sequence != peer->ucx->arrived.next ||
        (!words_in_data && words.size() != h->words * sizeof(capnp::word)) ||
        data_bytes != expected_data_bytes(*h, words_in_data)) {
        fail(peer, broken("a frame that is out of sequence or not as long as it says"));
        return UCS_OK;
    }
    ++peer->ucx->arrived.next;
    const std::span<const std::byte> arrived{static_cast<const std::byte*>(data), data_bytes};
    if (!is_rendezvous && peer->ucx->state == link_state::up &&
        peer->ucx->arrived.waiting.empty() && deliver_at_once(peer, *h, words, arrived))
        return UCS_OK;

    auto a = std::make_shared<arrival>();
    a->peer = peer;
    a->header = *h;
    a->words.assign(words.begin(), words.end());
    a->data_bytes = data_bytes;
    if (is_rendezvous)
        a->rendezvous = data;
    else
        a->kept.assign(arrived.begin(), arrived.end());
    peer->ucx->arrived.waiting.push_back(a);
    peer->ucx->arrived.backlog_bytes += overhead_bytes(*a) + a->kept.size();
    if (!pool_.can_ever_hold(data_bytes))
        fail(peer, error{errc::exhausted, "a frame of " + std::to_string(data_bytes) +
                                              " bytes is larger than this node's memory bound"});
    place_next(peer);
    deliver_ready(*peer);
    if (peer->ucx->arrived.backlog_bytes > settings_.backlog_bytes_max)
        fail(peer,
             error{errc::exhausted, "more than " + std::to_string(settings_.backlog_bytes_max) +
                                        " bytes that it has sent wait for memory"});
    return is_rendezvous ? UCS_INPROGRESS : UCS_OK;
}

// Where the words are part of the data there is no place for them.
result<data_room> frame_receiver::room_for(peer_state& peer, const wire::header& h,
                                           std::size_t data_bytes) {
    const bool are_tensors = data_bytes == h.tensor_bytes;
    if (const tensor place = are_tensors ? peer.places.take(h.place, data_bytes) : tensor{}) {
        const buffer_ref& memory = place.storage();
        return data_room{memory, static_cast<std::size_t>(place.data() - memory->data())};
    }
    auto room = pool_.allocate(data_bytes);
    if (!room)
        return room.failure();
    return data_room{std::move(*room)};
}

bool frame_receiver::deliver_at_once(const std::shared_ptr<peer_state>& peer, const wire::header& h,
                                     std::span<const std::byte> words,
                                     std::span<const std::byte> data) {
    data_room room;
    if (needs_buffer(h, data.size())) {
        auto found = room_for(*peer, h, data.size());
        if (!found)
            return false;
        room = std::move(*found);
        std::ranges::copy(data, room.begin());
    }
    auto f = assemble(h, words, std::move(room));
    if (f)
        frames.push_back({peer, std::move(*f)});
    else
        fail(peer, f.failure());
    return true;
}

void frame_receiver::place_next(const std::shared_ptr<peer_state>& peer) {
    if (!peer->ucx->is_heard())
        return;
    const bool waited = peer->ucx->arrived.waits_since.has_value();
    for (; peer->ucx->arrived.placed < peer->ucx->arrived.waiting.size();
         ++peer->ucx->arrived.placed) {
        const auto next = peer->ucx->arrived.waiting[peer->ucx->arrived.placed];
        if (!is_due(*peer, *next))
            break;
        if (place(next)) {
            if (waited)
                peer->ucx->arrived.waits_since = time_.now(); // for the next one, if any
            continue;
        }
        if (!waited) {
            peer->ucx->arrived.waits_since = time_.now();
            waiting_.push_back(peer);
        }
        return;
    }
    peer->ucx->arrived.waits_since.reset();
    if (waited)
        std::erase(waiting_, peer);
}

// Small frames behind a waiting transfer fill the backlog; past half of its bound the transfer is due at once.
bool frame_receiver::is_due(const peer_state& peer, const arrival& next) const {
    return next.rendezvous == nullptr || peer.ucx->arrived.transfers < transfers_min ||
           peer.ucx->arrived.transfer_bytes + next.data_bytes <= transfer_bytes_max ||
           peer.ucx->arrived.backlog_bytes > settings_.backlog_bytes_max / 2;
}

bool frame_receiver::place(const std::shared_ptr<arrival>& a) {
    if (!needs_buffer(a->header, a->data_bytes)) {
        a->is_complete = true;
        return true;
    }
    auto room = room_for(*a->peer, a->header, a->data_bytes);
    if (!room)
        return false;
    a->room = std::move(*room);
    if (a->rendezvous != nullptr) {
        begin_transfer(a);
    } else {
        std::ranges::copy(a->kept, a->room.begin()); // may be empty, which memcpy does not allow
        a->peer->ucx->arrived.backlog_bytes -= a->kept.size();
        a->kept = {};
        a->is_complete = true;
    }
    return true;
}

void frame_receiver::begin_transfer(const std::shared_ptr<arrival>& a) {
    ucp_request_param_t params{};
    params.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    params.memory_type = UCS_MEMORY_TYPE_HOST;
    params.cb.recv_am = &frame_receiver::transferred;
    params.user_data = a.get();
    transfers_.emplace(a.get(), a);
    ++a->peer->ucx->arrived.transfers;
    a->peer->ucx->arrived.transfer_bytes += a->data_bytes;
    const auto request =
        ucp_am_recv_data_nbx(a->peer->ucx->worker->get(), std::exchange(a->rendezvous, nullptr),
                             a->room.begin(), a->data_bytes, &params);
    // If the connection has failed meanwhile, UCX 1.13 calls `transferred` before it returns.
    if (UCS_PTR_IS_PTR(request) || !end_transfer(*a))
        return;
    if (UCS_PTR_IS_ERR(request))
        a->peer->has_failed = *a->peer->ucx->any_failed = true;
    else
        a->is_complete = true;
}

bool frame_receiver::end_transfer(arrival& a) {
    if (transfers_.erase(&a) == 0)
        return false;
    --a.peer->ucx->arrived.transfers;
    a.peer->ucx->arrived.transfer_bytes -= a.data_bytes;
    return true;
}

void frame_receiver::transferred(void* request, ucs_status_t status, std::size_t bytes,
                                 void* what) {
    ucp_request_free(request);
    frame_receiver& self = *static_cast<arrival*>(what)->peer->ucx->receiver;
    const auto done = self.transfers_.at(static_cast<arrival*>(what));
    self.end_transfer(*done);
    if (!done->peer->ucx->is_heard())
        return;             // the peer is gone
    if (status != UCS_OK) { // the control connection may tell more
        done->peer->has_failed = *done->peer->ucx->any_failed = true;
        return;
    }
    if (bytes != done->data_bytes)
        return self.fail(done->peer, broken("a tensor that is not as long as it says"));
    done->is_complete = true;
    self.place_next(done->peer);
    self.deliver_ready(*done->peer);
}

void frame_receiver::deliver_ready(peer_state& peer) {
    while (peer.ucx->state == link_state::up && !peer.ucx->arrived.waiting.empty() &&
           peer.ucx->arrived.waiting.front()->is_complete) {
        const auto a = std::move(peer.ucx->arrived.waiting.front());
        peer.ucx->arrived.waiting.pop_front();
        --peer.ucx->arrived.placed;
        peer.ucx->arrived.backlog_bytes -= overhead_bytes(*a);
        auto f = assemble(a->header, a->words, std::move(a->room));
        if (!f) {
            fail(a->peer, f.failure());
            return;
        }
        frames.push_back({a->peer, std::move(*f)});
    }
}

void frame_receiver::retry() {
    const time_point now = time_.now();
    for (const auto& peer : std::vector{waiting_}) {
        place_next(peer);
        deliver_ready(*peer);
        if (peer->ucx->arrived.waits_since &&
            now - *peer->ucx->arrived.waits_since > settings_.memory_timeout)
            fail(peer,
                 error{errc::exhausted,
                       "no memory for a frame of " +
                           std::to_string(
                               peer->ucx->arrived.waiting[peer->ucx->arrived.placed]->data_bytes) +
                           " bytes for " +
                           std::to_string(settings_.memory_timeout.count() / 1000000) + " ms"});
    }
}

// The peer's connection will end soon; until then its messages are dropped.
void frame_receiver::fail(const std::shared_ptr<peer_state>& peer, error why) {
    if (!peer->ucx->is_heard())
        return;
    peer->ucx->state = link_state::broken;
    failures.push_back({peer, std::move(why)});
}

} // namespace troupe
