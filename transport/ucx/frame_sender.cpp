#include "transport/ucx/frame_sender.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

constexpr std::size_t header_room = 4096; // see wire.md
constexpr std::byte padding[wire::alignment]{};

} // namespace

// A frame being sent: the memory that UCX reads until completion.
struct frame_sender::operation {
    frame_sender* owner = nullptr;
    std::shared_ptr<peer_state> peer;
    frame_ptr data;
    std::uint64_t sequence = 0;
    std::uint64_t bytes = 0;
    std::array<std::byte, header_room> header;
    std::vector<std::byte> words; // for a message too long for the header
    std::vector<ucp_dt_iov_t> pieces;
};

frame_sender::frame_sender() = default;
frame_sender::~frame_sender() = default;

void frame_sender::abandon(const peer_state& peer) {
    for (const auto& op : operations_)
        if (op->peer.get() == &peer)
            complete(*op);
}

std::unordered_map<const peer_state*, frames_under_way> frame_sender::under_way() const {
    std::unordered_map<const peer_state*, frames_under_way> found;
    for (const auto& op : operations_) {
        if (op->peer == nullptr)
            continue;
        auto& frames = found.try_emplace(op->peer.get(), op->sequence, 0).first->second;
        frames.oldest = std::min(frames.oldest, op->sequence);
        frames.bytes += op->bytes;
    }
    return found;
}

frame_sender::operation& frame_sender::take_operation() {
    if (free_.empty()) {
        operations_.push_back(std::make_unique<operation>());
        operations_.back()->owner = this;
        return *operations_.back();
    }
    operation& op = *free_.back();
    free_.pop_back();
    return op;
}

bool frame_sender::flush(const std::shared_ptr<peer_state>& peer) {
    for (;;) {
        if (peer->ucx->ep == nullptr || peer->has_failed)
            break;
        auto next = peer->queue.pop();
        if (!next)
            break;
        post(peer, std::move(*next));
    }
    return peer->ucx->in_flight > 0 || peer->has_failed;
}

void frame_sender::post(const std::shared_ptr<peer_state>& peer, send_queue::entry next) {
    operation& op = take_operation();
    wire::header h = next.measured;
    h.token = peer->send_token;
    h.sequence = op.sequence = peer->ucx->next_sequence++;
    op.peer = peer;
    op.data = std::move(next.data);
    const std::size_t words_bytes = h.words * sizeof(capnp::word);
    op.bytes = words_bytes + h.tensor_bytes;

    wire::write_header(h, std::span{op.header}.first<wire::header_bytes>());
    std::size_t header_length = wire::header_bytes;
    op.pieces.clear();
    const auto add_piece = [&](std::span<const std::byte> piece) {
        op.pieces.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
    };
    if (header_length + words_bytes <=
        std::min(header_room, peer->ucx->worker->header_bytes_max())) {
        wire::write_words(*op.data, std::span{op.header}.subspan(header_length, words_bytes));
        header_length += words_bytes;
    } else {
        op.words.resize(words_bytes);
        wire::write_words(*op.data, op.words);
        add_piece(op.words);
        if (h.tensors > 0 && wire::aligned(words_bytes) != words_bytes)
            add_piece({padding, wire::aligned(words_bytes) - words_bytes});
    }
    if (h.tensors > 0)
        for (const auto piece : wire::tensor_section(*op.data))
            add_piece(piece);

    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                          UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    params.memory_type = UCS_MEMORY_TYPE_HOST;
    params.cb.send = &frame_sender::completed;
    params.user_data = &op;
    const bool contiguous = op.pieces.size() <= 1;
    params.datatype = contiguous ? ucp_dt_make_contig(1) : ucp_datatype_t{UCP_DATATYPE_IOV};
    const void* buffer =
        contiguous ? (op.pieces.empty() ? nullptr : op.pieces[0].buffer) : op.pieces.data();
    const std::size_t count =
        contiguous ? (op.pieces.empty() ? 0 : op.pieces[0].length) : op.pieces.size();
    ++peer->ucx->in_flight;
    ++in_flight_;
    const auto request = ucp_am_send_nbx(peer->ucx->ep, frame_message, op.header.data(),
                                         header_length, buffer, count, &params);
    if (UCS_PTR_IS_PTR(request))
        return;
    // Complete, or failed: the peer is given up soon.
    if (UCS_PTR_IS_ERR(request)) {
        peer->has_failed = true;
        *peer->ucx->any_failed = true;
    }
    complete(op);
}

void frame_sender::completed(void* request, ucs_status_t, void* op) {
    ucp_request_free(request);
    auto& done = *static_cast<operation*>(op);
    done.owner->complete(done);
}

void frame_sender::complete(operation& op) {
    const auto peer = std::move(op.peer);
    --peer->ucx->in_flight;
    --in_flight_;
    if (peer->queue.sent(op.bytes)) {
        peer->is_writable = true;
        writable_ = true;
    }
    op.data.reset();
    free_.push_back(&op);
}

} // namespace troupe
