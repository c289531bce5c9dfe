#include "transport/tcp/stream_sender.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::size_t pieces_max = 64; // of one write
constexpr std::uint64_t write_bytes = 1u << 20;
constexpr std::uint64_t flush_bytes = 4u << 20; // of one flush: then others have their turn
constexpr std::size_t heads_kept = 64;
constexpr std::size_t head_bytes_kept = 4096;

} // namespace

void stream_sender::open(byte_stream& stream) {
    std::lock_guard guard{lock_};
    stream_ = &stream;
}

void stream_sender::close() {
    std::lock_guard guard{lock_};
    stream_ = nullptr;
    has_failed_ = true;
    frames_.clear();
    bytes_left_ = 0;
    is_blocked_ = false;
}

// A thread that finds another one writing leaves its frame to it: that one looks at the queue again after it has let go of
// the lock, so no frame is left behind.
stream_sender::outcome stream_sender::flush() {
    outcome all;
    std::uint64_t written = 0;
    do {
        std::unique_lock guard{lock_, std::try_to_lock};
        if (!guard)
            return all;
        const outcome now = write(written);
        all.is_writable |= now.is_writable;
        all.is_blocked = now.is_blocked;
        all.has_failed |= now.has_failed;
        if (stream_ == nullptr)
            return all;
    } while (!all.is_blocked && !all.has_failed && !queue_.empty());
    return all;
}

stream_sender::outcome stream_sender::write(std::uint64_t& written) {
    outcome all;
    all.has_failed = has_failed_;
    if (stream_ == nullptr || has_failed_)
        return all;
    for (;;) {
        const auto pieces = gather();
        if (pieces.empty() && !stream_->holds_bytes())
            break;
        const auto taken = stream_->write(pieces);
        if (!taken) {
            all.has_failed = has_failed_ = true;
            break;
        }
        all.is_writable |= advance(*taken);
        written += *taken;
        if (*taken < gathered_bytes_ || (pieces.empty() && stream_->holds_bytes())) {
            all.is_blocked = true;
            break;
        }
        if (written >= flush_bytes) {
            all.is_blocked = !frames_.empty() || !queue_.empty() || stream_->holds_bytes();
            break;
        }
    }
    is_blocked_ = all.is_blocked;
    return all;
}

// The next bytes of the frames, as far as one write takes them.
std::span<const iovec> stream_sender::gather() {
    gathered_.clear();
    gathered_bytes_ = 0;
    for (std::size_t i = 0; gathered_.size() < pieces_max && gathered_bytes_ < write_bytes; ++i) {
        if (i == frames_.size()) {
            auto next = queue_.pop();
            if (!next)
                break;
            add(std::move(*next));
        }
        const outgoing& f = frames_[i];
        std::size_t at = f.piece_at;
        for (std::size_t p = f.pieces_done;
             p < f.pieces() && gathered_.size() < pieces_max && gathered_bytes_ < write_bytes;
             ++p) {
            auto piece = f.piece(p).subspan(at);
            piece =
                piece.first(std::min<std::uint64_t>(piece.size(), write_bytes - gathered_bytes_));
            gathered_.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
            gathered_bytes_ += piece.size();
            at = 0;
        }
    }
    return gathered_;
}

void stream_sender::add(send_queue::entry next) {
    outgoing f;
    wire::header h = next.measured;
    h.token = token_;
    h.sequence = next_sequence_.fetch_add(1, std::memory_order_relaxed);
    f.data = std::move(next.data);
    f.bytes = payload_bytes(h);
    if (!heads_.empty()) {
        f.head = std::move(heads_.back());
        heads_.pop_back();
    }
    f.head.resize(wire::header_bytes + h.words * sizeof(capnp::word));
    const std::span head{f.head};
    wire::write_header(h, head.first<wire::header_bytes>());
    wire::write_words(*f.data, head.subspan(wire::header_bytes));
    if (h.tensors > 0)
        f.tensors = wire::tensor_section(*f.data);
    if (frames_.empty())
        oldest_.store(h.sequence, std::memory_order_relaxed);
    bytes_left_.fetch_add(f.bytes, std::memory_order_relaxed);
    frames_.push_back(std::move(f));
}

bool stream_sender::advance(std::size_t written) {
    bool is_writable = false;
    bytes_written_.fetch_add(written, std::memory_order_relaxed);
    while (written > 0) {
        outgoing& f = frames_.front();
        const std::size_t left = f.piece(f.pieces_done).size() - f.piece_at;
        const std::size_t now = std::min(left, written);
        written -= now;
        f.piece_at += now;
        if (now < left)
            break;
        f.piece_at = 0;
        if (++f.pieces_done < f.pieces())
            continue;
        is_writable |= queue_.sent(f.bytes);
        bytes_left_.fetch_sub(f.bytes, std::memory_order_relaxed);
        oldest_.fetch_add(1, std::memory_order_relaxed);
        if (f.head.capacity() <= head_bytes_kept && heads_.size() < heads_kept)
            heads_.push_back(std::move(f.head));
        frames_.pop_front();
    }
    return is_writable;
}

bool stream_sender::is_drained() {
    std::unique_lock guard{lock_, std::try_to_lock};
    return guard && frames_.empty() && queue_.empty() &&
           (stream_ == nullptr || !stream_->holds_bytes());
}

std::optional<frames_under_way> stream_sender::under_way() const noexcept {
    const std::uint64_t bytes = bytes_left_.load(std::memory_order_relaxed);
    if (bytes == 0)
        return std::nullopt;
    return frames_under_way{oldest_.load(std::memory_order_relaxed), bytes};
}

} // namespace troupe
