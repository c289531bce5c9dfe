#include <boost/test/unit_test.hpp>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/random.hpp"
#include "schemas/handshake.capnp.h"
#include "transport/handshake/control.hpp"
#include "transport/handshake/handshake.hpp"
#include "transport/handshake/key_file.hpp"

using namespace troupe;
using bytes = std::vector<std::byte>;

namespace {

// As it is on the wire.
bytes sent(capnp::MessageBuilder& message) {
    const auto words = capnp::messageToFlatArray(message);
    const auto all = std::as_bytes(std::span{words.begin(), words.size()});
    return {all.begin(), all.end()};
}

constexpr handshake_nonce nonce_a{std::byte{1}};
constexpr handshake_nonce nonce_c{std::byte{2}};

struct session {
    session_secrets connector;
    session_secrets acceptor;
};

session agreed() {
    handshake a{handshake_side::acceptor, "secret", nonce_a};
    handshake c{handshake_side::connector, "secret", nonce_c};
    const auto response = c.advance(a.begin());
    const auto answer = a.advance(response.value());
    BOOST_TEST_REQUIRE(c.advance(answer.value()).ok());
    return {c.secrets(), a.secrets()};
}

bytes text(std::string_view s) {
    bytes b(s.size());
    std::memcpy(b.data(), s.data(), s.size());
    return b;
}

} // namespace

BOOST_AUTO_TEST_SUITE(handshakes)

BOOST_AUTO_TEST_CASE(both_sides_derive_the_same_secrets_and_different_ones_per_direction) {
    const session s = agreed();
    BOOST_TEST((s.connector.send_key == s.acceptor.receive_key));
    BOOST_TEST((s.connector.receive_key == s.acceptor.send_key));
    BOOST_TEST((s.connector.send_token == s.acceptor.receive_token));
    BOOST_TEST((s.connector.receive_token == s.acceptor.send_token));
    BOOST_TEST((s.connector.send_key != s.connector.receive_key));
    BOOST_TEST((s.connector.send_token != s.connector.receive_token));
}

BOOST_AUTO_TEST_CASE(an_acceptor_refuses_another_key_and_says_so) {
    handshake a{handshake_side::acceptor, "secret", nonce_a};
    handshake c{handshake_side::connector, "Secret", nonce_c};
    const auto refusal = a.advance(c.advance(a.begin()).value());
    BOOST_TEST((refusal.failure().code() == errc::refused));
    const bytes last = a.last_words();
    BOOST_TEST_REQUIRE(last.size() == c.wanted());
    BOOST_TEST((c.advance(last).failure().code() == errc::refused));
}

BOOST_AUTO_TEST_CASE(a_connector_refuses_an_acceptor_that_only_pretends) {
    handshake a{handshake_side::acceptor, "secret", nonce_a};
    handshake c{handshake_side::connector, "secret", nonce_c};
    BOOST_TEST_REQUIRE(c.advance(a.begin()).ok());
    BOOST_TEST((c.advance(bytes(c.wanted())).failure().code() == errc::refused));
}

BOOST_AUTO_TEST_CASE(a_proof_cannot_be_used_for_another_challenge_or_sent_back) {
    handshake first{handshake_side::acceptor, "secret", nonce_a};
    handshake c{handshake_side::connector, "secret", nonce_c};
    const bytes response = c.advance(first.begin()).value();
    handshake second{handshake_side::acceptor, "secret", handshake_nonce{std::byte{9}}};
    BOOST_TEST((second.advance(response).failure().code() == errc::refused));

    // Reflection: the connector's own proof as the acceptor's.
    bytes reflected(40);
    std::copy(response.end() - 32, response.end(), reflected.begin() + 8);
    BOOST_TEST((c.advance(reflected).failure().code() == errc::refused));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_node_is_a_protocol_error_and_another_version_is_refused) {
    handshake c{handshake_side::connector, "", nonce_c};
    BOOST_TEST((c.advance(text("HTTP/1.1 400 Bad Request, and more text.")).failure().code() ==
                errc::protocol));
    handshake a{handshake_side::acceptor, "", nonce_a};
    BOOST_TEST((a.advance(bytes(a.wanted())).failure().code() == errc::protocol));
    BOOST_TEST(a.last_words().empty());
    bytes other = handshake{handshake_side::acceptor, "", nonce_a}.begin();
    other[4] = std::byte{2};
    handshake d{handshake_side::connector, "", nonce_c};
    BOOST_TEST((d.advance(other).failure().code() == errc::refused));
}

BOOST_AUTO_TEST_CASE(messages_are_checked_for_order_direction_and_contents) {
    const session s = agreed();
    sealed_messages c{s.connector};
    sealed_messages a{s.acceptor};
    const auto open = [](sealed_messages& by, const bytes& m) {
        const std::span head = std::span{m}.first<sealed_messages::head_bytes>();
        BOOST_TEST(sealed_messages::payload_bytes(head).value() == m.size() - head.size());
        return by.open(head, std::span{m}.subspan(head.size())).ok();
    };
    const bytes first = c.seal(text("one"));
    bytes second = c.seal(text("two"));
    BOOST_TEST(open(a, first));
    BOOST_TEST(!open(a, first)); // again
    sealed_messages fresh{s.acceptor};
    BOOST_TEST(open(fresh, first));
    BOOST_TEST(!open(c, first)); // sent back
    second.back() ^= std::byte{1};
    BOOST_TEST(!open(fresh, second));
}

BOOST_AUTO_TEST_CASE(the_length_of_a_message_is_bounded_before_it_is_read) {
    std::array<std::byte, sealed_messages::head_bytes> head{};
    BOOST_TEST((sealed_messages::payload_bytes(head).failure().code() == errc::protocol));
    head.fill(std::byte{0xff});
    BOOST_TEST((sealed_messages::payload_bytes(head).failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_CASE(control_messages_come_back_as_they_were) {
    handshake_nonce token;
    token.fill(std::byte{5});
    const hello_message hello{{node_id{7}, "left", "127.0.0.1:4242", peer_role::client},
                              memory_mark{4711, 12, token},
                              true,
                              false,
                              {1, 22}};
    const auto read = read_control(write_control(hello));
    const auto& again = std::get<hello_message>(read.value());
    BOOST_TEST(again.self.node == node_id{7});
    BOOST_TEST(again.self.name == "left");
    BOOST_TEST(again.self.address == "127.0.0.1:4242");
    BOOST_TEST((again.self.role == peer_role::client));
    BOOST_TEST((again.memory == hello.memory));
    BOOST_TEST(again.rdma);
    BOOST_TEST(!again.tcp);
    BOOST_TEST((again.ucx == ucx_version{1, 22}));
    hello_message bare{{node_id{7}, "left", "127.0.0.1:4242"}};
    bare.tcp = true;
    const auto bare_read = read_control(write_control(bare));
    const auto& bare_again = std::get<hello_message>(bare_read.value());
    BOOST_TEST(!bare_again.memory.has_value());
    BOOST_TEST(!bare_again.rdma);
    BOOST_TEST(bare_again.tcp);
    for (const bool sees : {false, true})
        BOOST_TEST(std::get<sight_message>(read_control(write_control(sight_message{sees})).value())
                       .memory == sees);
    const worker_message worker{bytes(100, std::byte{5})};
    BOOST_TEST((std::get<worker_message>(read_control(write_control(worker)).value()).address ==
                worker.address));
    BOOST_TEST((std::get<verdict_message>(
                    read_control(write_control(verdict_message::duplicate)).value()) ==
                verdict_message::duplicate));
    BOOST_TEST(std::holds_alternative<alive_message>(
        read_control(write_control(alive_message{})).value()));
    BOOST_TEST(std::holds_alternative<wired_message>(
        read_control(write_control(wired_message{})).value()));
    BOOST_TEST(
        std::get<goodbye_message>(read_control(write_control(goodbye_message{9})).value()).frames ==
        9u);
}

BOOST_AUTO_TEST_CASE(why_a_connection_was_given_up_is_printed_as_text_of_a_stranger) {
    const auto read = [](const std::string& why) {
        capnp::MallocMessageBuilder builder; // not as write_control would
        builder.initRoot<proto::Control>().setGivenUp(why);
        return std::get<given_up_message>(read_control(sent(builder)).value()).why;
    };
    BOOST_TEST(read("no heartbeat for 4000 ms") == "no heartbeat for 4000 ms");
    BOOST_TEST(read("red\x1b[31m") == "red\\x1b[31m");
    BOOST_TEST(read(std::string(limits::reason_bytes_max + 1, 'x')) ==
               std::string(limits::reason_bytes_max, 'x') + "...");
    const std::string long_one(2 * limits::control_bytes_max, 'x');
    BOOST_TEST(read_control(write_control(given_up_message{long_one})).ok());
}

BOOST_AUTO_TEST_CASE(a_node_of_the_first_version_is_refused_with_both_versions) {
    capnp::MallocMessageBuilder builder;
    auto hello = builder.initRoot<proto::Control>().initHello(); // version 1 unless it says another
    hello.setNode(7);
    hello.setName("left");
    hello.setAddress("127.0.0.1:1");
    const auto read = read_control(sent(builder));
    BOOST_TEST_REQUIRE(!read.ok());
    BOOST_TEST((read.failure().code() == errc::refused));
    BOOST_TEST(read.failure().message() == "the other node speaks version 1, this build version " +
                                               std::to_string(wire::version));
    hello.setVersion(wire::version);
    BOOST_TEST(read_control(sent(builder)).ok());
}

BOOST_AUTO_TEST_CASE(a_hello_that_is_out_of_bounds_is_refused) {
    const hello_message good{{node_id{7}, "left", "127.0.0.1:1"}, memory_mark{}};
    const auto is_refused = [&](auto change) {
        hello_message bad = good;
        change(bad);
        const auto read = read_control(write_control(bad));
        return !read.ok() && read.failure().code() == errc::protocol;
    };
    BOOST_TEST(!is_refused([](auto&) {}));
    BOOST_TEST(is_refused([](auto& m) { m.self.node = node_id{0}; }));
    BOOST_TEST(is_refused([](auto& m) { m.self.name.clear(); }));
    BOOST_TEST(
        is_refused([](auto& m) { m.self.name = std::string(limits::name_bytes_max + 1, 'x'); }));
    BOOST_TEST(is_refused([](auto& m) { m.self.name = "red\x1b[31m"; }));
    BOOST_TEST(is_refused([](auto& m) { m.self.name = "bell\a"; }));
    BOOST_TEST(is_refused([](auto& m) { m.self.name = "back\b"; }));
    BOOST_TEST(is_refused([](auto& m) { m.self.name = "red\u009b31m"; })); // CSI as one C1 control
    BOOST_TEST(!is_refused([](auto& m) { m.self.name = "Bühne"; }));
    BOOST_TEST(is_refused([](auto& m) { m.self.address = "127.0.0.1\a:1"; }));
    BOOST_TEST(!is_refused([](auto& m) { m.self.address.assign(limits::address_bytes_max, 'x'); }));
    BOOST_TEST(
        is_refused([](auto& m) { m.self.address.assign(limits::address_bytes_max + 1, 'x'); }));
}

BOOST_AUTO_TEST_CASE(a_token_or_an_address_of_a_wrong_size_is_refused) {
    for (const unsigned size : {0, 31, 32, 33}) {
        capnp::MallocMessageBuilder builder;
        auto hello = builder.initRoot<proto::Control>().initHello();
        hello.setVersion(wire::version);
        hello.setNode(7);
        hello.setName("left");
        hello.setAddress("127.0.0.1:1");
        hello.initMemory().initToken(size);
        BOOST_TEST(read_control(sent(builder)).ok() == (size == 32));
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, limits::worker_address_bytes_max,
                                   limits::worker_address_bytes_max + 1}) {
        const auto read = read_control(write_control(worker_message{bytes(size)}));
        BOOST_TEST(read.ok() == (size > 0 && size <= limits::worker_address_bytes_max));
    }
}

BOOST_AUTO_TEST_CASE(damaged_control_messages_are_values_or_errors) {
    random_stream random{3};
    const bytes good =
        write_control(hello_message{{node_id{7}, "left", "127.0.0.1:1"}, memory_mark{1, 2, {}}});
    std::size_t refused = 0;
    for (int round = 0; round < 20000; ++round) {
        bytes bad = good;
        for (std::uint64_t i = 0; i <= random.below(3); ++i)
            bad[random.below(bad.size())] = static_cast<std::byte>(random.next());
        const auto read = read_control(bad);
        refused += read.ok() ? 0 : 1;
        if (!read.ok())
            BOOST_REQUIRE(is_printable_name(read.failure().message(), 1000));
    }
    BOOST_TEST(refused > 1000u);
}

BOOST_AUTO_TEST_CASE(a_key_file_must_be_private_and_long_enough) {
    char folder[] = "/tmp/troupe_key_XXXXXX";
    BOOST_TEST_REQUIRE(mkdtemp(folder) != nullptr);
    const std::string path = std::string{folder} + "/key";
    const auto read = [&](std::string_view contents, mode_t mode) {
        std::ofstream{path} << contents;
        chmod(path.c_str(), mode);
        return read_key_file(path);
    };
    BOOST_TEST(read("0123456789abcdef\n", 0600).value() == "0123456789abcdef");
    BOOST_TEST((read("0123456789abcdef", 0640).failure().code() == errc::usage));
    BOOST_TEST((read("0123456789abcde\n", 0600).failure().code() == errc::usage));
    BOOST_TEST(
        (read(std::string(limits::key_bytes_max + 1, 'k'), 0600).failure().code() == errc::usage));
    BOOST_TEST((read_key_file(folder).failure().code() == errc::usage));
    std::filesystem::remove_all(folder);
    BOOST_TEST((read_key_file(path).failure().code() == errc::usage));
}

BOOST_AUTO_TEST_SUITE_END()
