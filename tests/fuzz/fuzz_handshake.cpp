// Fuzz target: what a peer sends from its first byte on, as control_connection takes it. The first byte of an input says
// which side we are.
#include "tests/fuzz/target.hpp"
#include "transport/handshake/control.hpp"
#include "transport/handshake/handshake.hpp"

namespace troupe::fuzz {

namespace {

constexpr std::string_view key = "0123456789abcdef";
constexpr secret_key ephemerals[] = {{std::byte{8}}, {std::byte{16}}}; // the same in all inputs

handshake of(handshake_side side) {
    return {side, key, ephemerals[static_cast<std::size_t>(side)]};
}

class arriving {
  public:
    explicit arriving(std::span<const std::byte> all) : left_{all} {}

    std::size_t left() const { return left_.size(); }
    std::span<const std::byte> take(std::size_t bytes) {
        const auto taken = left_.first(bytes);
        left_ = left_.subspan(bytes);
        return taken;
    }

  private:
    std::span<const std::byte> left_;
};

// Answers a whole message of the handshake.
std::vector<std::byte> said_to(handshake& by, std::span<const std::byte> message) {
    std::vector<std::byte> answer;
    for (arriving in{message}; in.left() > 0;)
        answer = by.advance(in.take(by.wanted())).value();
    return answer;
}

bool prove(handshake& ours, arriving& in) {
    (void)ours.begin();
    while (!ours.done()) {
        if (in.left() < ours.wanted())
            return false;
        if (const auto answer = ours.advance(in.take(ours.wanted())); !answer) {
            check_refusal(answer.failure());
            (void)ours.last_words();
            return false;
        }
    }
    return true;
}

// The next message, taken whole.
bool next_message(sealed_messages& sealed, arriving& in) {
    const auto head = in.take(sealed_messages::head_bytes).first<sealed_messages::head_bytes>();
    const auto bytes = sealed_messages::sealed_bytes(head);
    if (!bytes || in.left() < *bytes)
        return false;
    const auto payload = sealed.open(in.take(*bytes));
    if (!payload) {
        check_refusal(payload.failure());
        return false;
    }
    return read_control(*payload).ok();
}

} // namespace

bool read(std::span<const std::byte> in) {
    if (in.empty())
        return false;
    handshake ours =
        of(in[0] == std::byte{0} ? handshake_side::connector : handshake_side::acceptor);
    arriving bytes{in.subspan(1)};
    if (!prove(ours, bytes))
        return false;
    sealed_messages sealed{ours.secrets()};
    while (bytes.left() >= sealed_messages::head_bytes)
        if (!next_message(sealed, bytes))
            return false;
    return true;
}

std::vector<std::string> sound_inputs() {
    handshake a = of(handshake_side::acceptor), c = of(handshake_side::connector);
    const auto opening = c.begin();
    const auto answer = said_to(a, opening);
    said_to(c, answer);
    std::string to_connector = '\0' + text_of(answer);
    std::string to_acceptor = '\1' + text_of(opening);
    sealed_messages of_acceptor{a.secrets()}, of_connector{c.secrets()};
    const hello_message hello{.self = {node_id{7}, "left", "127.0.0.1:4242"}, .tcp = true};
    for (const control_message& m : {control_message{hello}, control_message{alive_message{}}}) {
        to_connector += text_of(of_acceptor.seal(write_control(m)));
        to_acceptor += text_of(of_connector.seal(write_control(m)));
    }
    return {to_connector, to_acceptor};
}

} // namespace troupe::fuzz
