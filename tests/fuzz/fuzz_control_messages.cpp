// Fuzz target: arbitrary bytes as a control message of a peer that has proven the key.
#include "tests/fuzz/target.hpp"
#include "transport/handshake/admission.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    const auto message = read_control(in);
    if (!message) {
        check_refusal(message.failure());
        return false;
    }
    if (const auto* hello = std::get_if<hello_message>(&*message)) {
        session_secrets session{};
        session.key_for = peer_role::client;
        if (const auto peer = admitted(*hello, session, handshake_side::connector); !peer)
            check_refusal(peer.failure());
        else
            TROUPE_CHECK(peer->role == peer_role::client && peer->node.value() != 0,
                         "who is admitted is somebody, in the role of the key");
    }
    const auto written = write_control(*message);
    const auto again = read_control(written);
    TROUPE_CHECK(again.ok() && write_control(*again) == written, "what is read can be passed on");
    return true;
}

std::vector<std::string> sound_inputs() {
    hello_message hello{{{}, "left", "127.0.0.1:4242", peer_role::client},
                        node_identity{random_token{}}.prove({}, handshake_side::connector),
                        memory_mark{.process = 300, .descriptor = 7}};
    hello.tcp = true;
    hello.ucx = {1, 13};
    std::vector<std::string> all;
    for (const control_message& m :
         {control_message{hello}, control_message{sight_message{true}},
          control_message{worker_message{std::vector<std::byte>(100, std::byte{3})}},
          control_message{verdict_message::accepted}, control_message{verdict_message::duplicate},
          control_message{goodbye_message{1000}}, control_message{alive_message{}},
          control_message{wired_message{}}, control_message{given_up_message{"it is too slow"}}})
        all.push_back(text_of(write_control(m)));
    return all;
}

} // namespace troupe::fuzz
