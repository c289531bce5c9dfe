#include "transport/tcp/control_connection.hpp"

#include <cerrno>
#include <cstring>

namespace troupe {

namespace {

constexpr int messages_per_advance = 16;

} // namespace

control_connection::control_connection(file_descriptor socket, handshake_side side,
                                       const std::vector<cluster_key>& keys, bool on_loopback)
    : socket_{std::move(socket)}, connecting_{side == handshake_side::connector}, side_{side},
      handshake_{side, keys, draw_token(), on_loopback} {
    queue(handshake_.begin());
}

result<void> control_connection::advance(std::vector<control_message>& arrived) {
    if (connecting_) {
        if (const auto connected = connect_outcome(socket_); !connected)
            return connected;
        connecting_ = false;
    }
    // Bounded, so that a flooding peer does not hold up others; the caller is notified of the rest again.
    bool more = true;
    for (int i = 0; more && i < messages_per_advance; ++i) {
        auto progress = sealed_ ? advance_messages(arrived) : advance_proof();
        if (!progress)
            return progress.failure();
        more = *progress &&
               (arrived.empty() || !std::holds_alternative<frames_message>(arrived.back()));
    }
    return write_some();
}

void control_connection::send(const control_message& message) {
    TROUPE_CHECK(proven(), "nothing is said before the proof");
    queue(sealed_->seal(write_control(message)));
    (void)write_some(); // a failure shows again when the socket is read
}

result<file_descriptor> control_connection::take_socket() {
    TROUPE_CHECK(outgoing_.empty(), "what was sent has left");
    if (!incoming_.empty())
        return error{errc::protocol, "bytes that are no message"};
    return std::move(socket_);
}

void control_connection::send_last_words() {
    queue(handshake_.last_words());
    (void)write_some();
}

result<bool> control_connection::advance_proof() {
    const std::size_t wanted = handshake_.wanted();
    const auto complete = read_up_to(wanted);
    if (!complete || !*complete)
        return complete;
    auto answer = handshake_.advance(incoming_);
    incoming_.clear();
    if (!answer)
        return answer.failure();
    queue(*answer);
    if (handshake_.done()) {
        sealed_.emplace(handshake_.secrets());
        is_proven_ = side_ == handshake_side::connector;
    }
    return true;
}

result<bool> control_connection::advance_messages(std::vector<control_message>& arrived) {
    constexpr std::size_t head_bytes = sealed_messages::head_bytes;
    if (incoming_.size() < head_bytes)
        if (const auto complete = read_up_to(head_bytes); !complete || !*complete)
            return complete;
    const auto size = sealed_messages::sealed_bytes(std::span{incoming_}.first<head_bytes>());
    if (!size)
        return size.failure();
    if (const auto complete = read_up_to(head_bytes + *size); !complete || !*complete)
        return complete;
    const auto payload = sealed_->open(std::span{incoming_}.subspan(head_bytes));
    if (!payload)
        return payload.failure();
    is_proven_ = true;
    auto message = read_control(*payload);
    incoming_.clear();
    if (!message)
        return message.failure();
    arrived.push_back(std::move(*message));
    return true;
}

result<bool> control_connection::read_up_to(std::size_t wanted) {
    while (incoming_.size() < wanted) {
        const std::size_t have = incoming_.size();
        incoming_.resize(wanted);
        const ssize_t got = recv(socket_.get(), incoming_.data() + have, wanted - have, 0);
        const int code = errno;
        incoming_.resize(have + static_cast<std::size_t>(got > 0 ? got : 0));
        if (got > 0 || (got < 0 && code == EINTR))
            continue;
        if (got < 0 && (code == EAGAIN || code == EWOULDBLOCK))
            return false;
        const std::string how = got == 0 ? "connection closed" : std::strerror(code);
        return proven() ? error{errc::lost, how}
                        : error{errc::unreachable, "the other side: " + how};
    }
    return true;
}

result<void> control_connection::write_some() {
    while (!connecting_ && !outgoing_.empty()) {
        const ssize_t sent =
            ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
        if (sent > 0) {
            outgoing_.erase(outgoing_.begin(), outgoing_.begin() + sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            return error{proven() ? errc::lost : errc::unreachable,
                         std::string{"cannot send to the other side: "} + std::strerror(errno)};
        }
    }
    return {};
}

void control_connection::queue(std::span<const std::byte> bytes) {
    outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end());
}

} // namespace troupe
