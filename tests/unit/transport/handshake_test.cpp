#include <boost/test/unit_test.hpp>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/random.hpp"
#include "schemas/handshake.capnp.h"
#include "transport/handshake/control.hpp"
#include "transport/handshake/handshake.hpp"

using namespace troupe;
using bytes = std::vector<std::byte>;

namespace {

// As it is on the wire.
bytes sent(capnp::MessageBuilder& message) {
    const auto words = capnp::messageToFlatArray(message);
    const auto all = std::as_bytes(std::span{words.begin(), words.size()});
    return {all.begin(), all.end()};
}

const std::vector<cluster_key> keys{{"secret"}};
const std::vector<cluster_key> no_keys{{""}};
constexpr secret_key ephemeral_a{std::byte{0x08}};
constexpr secret_key ephemeral_c{std::byte{0x10}};

// A message of the handshake, as its receiver takes it: all of it, or up to the first error.
result<bytes> take(handshake& by, std::span<const std::byte> in) {
    bytes answer;
    while (!in.empty()) {
        const std::size_t next = by.wanted();
        const auto said = by.advance(in.first(next));
        if (!said)
            return said.failure();
        answer.insert(answer.end(), said->begin(), said->end());
        in = in.subspan(next);
    }
    return answer;
}

struct session {
    session_secrets connector;
    session_secrets acceptor;
};

session agreed() {
    handshake a{handshake_side::acceptor, keys, ephemeral_a};
    handshake c{handshake_side::connector, keys, ephemeral_c};
    const bytes answer = take(a, c.begin()).value();
    BOOST_TEST_REQUIRE(take(c, answer).ok());
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

BOOST_AUTO_TEST_CASE(every_connection_has_secrets_of_its_own) {
    handshake a{handshake_side::acceptor, keys, secret_key{std::byte{0x18}}};
    handshake c{handshake_side::connector, keys, ephemeral_c};
    BOOST_TEST_REQUIRE(take(c, take(a, c.begin()).value()).ok());
    const session other = agreed();
    BOOST_TEST((c.secrets().send_key != other.connector.send_key));
    BOOST_TEST((c.secrets().send_token != other.connector.send_token));
}

// Off loopback addresses no node starts without a file.
BOOST_AUTO_TEST_CASE(an_acceptor_refuses_another_key_and_both_say_what_helps_there) {
    for (const std::string own : {"", ", or start both as one user without it"}) {
        handshake a{handshake_side::acceptor, keys, ephemeral_a, !own.empty()};
        handshake c{handshake_side::connector, {{"Secret"}}, ephemeral_c, !own.empty()};
        const error refused = take(a, c.begin()).failure();
        BOOST_TEST((refused.code() == errc::refused));
        BOOST_TEST(refused.message() ==
                   "the keys differ; give both sides the same file by --key FILE" + own);
        const bytes last = a.last_words();
        BOOST_TEST(last.size() == 56u);
        BOOST_TEST(take(c, last).failure().message() == refused.message());
        BOOST_TEST(c.last_words().empty());
    }
}

BOOST_AUTO_TEST_CASE(keys_with_roles_that_differ_are_told_with_the_line_for_the_other_file) {
    handshake a{handshake_side::acceptor, {{"Secret", peer_role::member}}, ephemeral_a};
    handshake c{handshake_side::connector, {{"secret", peer_role::client}}, ephemeral_c};
    BOOST_TEST(take(a, c.begin()).failure().message().find("'member KEY'") != std::string::npos);
    const std::string why = take(c, a.last_words()).failure().message();
    BOOST_TEST(why.ends_with("needs a line 'run KEY' of this side's file"));
}

BOOST_AUTO_TEST_CASE(a_connector_refuses_an_acceptor_that_only_pretends) {
    handshake c{handshake_side::connector, keys, ephemeral_c};
    const bytes opening = c.begin();
    BOOST_TEST((take(c, opening).failure().code() == errc::refused)); // its own, sent back
    // An answer to another opening.
    handshake a{handshake_side::acceptor, keys, ephemeral_a};
    handshake first{handshake_side::connector, keys, secret_key{std::byte{0x20}}};
    const bytes answer = take(a, first.begin()).value();
    handshake second{handshake_side::connector, keys, ephemeral_c};
    (void)second.begin();
    BOOST_TEST((take(second, answer).failure().code() == errc::refused));
    BOOST_TEST(take(first, answer).ok());
}

BOOST_AUTO_TEST_CASE(one_bit_that_differs_ends_a_handshake) {
    const auto is_through = [](std::size_t message, std::size_t bit) {
        handshake a{handshake_side::acceptor, keys, ephemeral_a};
        handshake c{handshake_side::connector, keys, ephemeral_c};
        const auto damaged = [&](bytes in, std::size_t number) {
            if (number == message)
                in[bit / 8] ^= std::byte{1} << (bit % 8);
            return in;
        };
        const auto answer = take(a, damaged(c.begin(), 0));
        return answer.ok() && take(c, damaged(*answer, 1)).ok();
    };
    BOOST_TEST(is_through(2, 0));
    for (const std::size_t message : {0, 1})
        for (std::size_t bit = 0; bit < 8 * 56; ++bit)
            if (bit / 8 != 7) // a zero that nobody reads
                BOOST_TEST(!is_through(message, bit), "message " << message << ", bit " << bit);
}

BOOST_AUTO_TEST_CASE(an_opening_that_is_sent_again_opens_nothing) {
    handshake a{handshake_side::acceptor, keys, ephemeral_a};
    handshake c{handshake_side::connector, keys, ephemeral_c};
    const bytes opening = c.begin();
    BOOST_TEST_REQUIRE(take(c, take(a, opening).value()).ok());
    const bytes said = sealed_messages{c.secrets()}.seal(text("hello"));

    handshake second{handshake_side::acceptor, keys, secret_key{std::byte{0x20}}};
    BOOST_TEST_REQUIRE(take(second, opening).ok()); // nobody can tell yet
    sealed_messages of_second{second.secrets()};
    const auto head_bytes = sealed_messages::head_bytes;
    BOOST_TEST(!of_second.open(std::span{said}.subspan(head_bytes)).ok());
    sealed_messages of_first{a.secrets()};
    BOOST_TEST(of_first.open(std::span{said}.subspan(head_bytes)).ok());
}

BOOST_AUTO_TEST_CASE(what_is_not_a_node_is_a_protocol_error_and_is_answered_nothing) {
    for (const handshake_side side : {handshake_side::connector, handshake_side::acceptor}) {
        handshake h{side, no_keys, ephemeral_c};
        BOOST_TEST((take(h, text("HTTP/1.1 400 Bad Request")).failure().code() == errc::protocol));
        BOOST_TEST(h.last_words().empty());
    }
}

BOOST_AUTO_TEST_CASE(another_version_is_refused_with_both_versions_on_both_sides) {
    const auto of_version = [](std::uint16_t version) {
        bytes out = handshake{handshake_side::connector, no_keys, ephemeral_c}.begin();
        out[4] = static_cast<std::byte>(version);
        return out;
    };
    for (const std::uint16_t version : {1, 2, 4}) {
        handshake c{handshake_side::connector, no_keys, ephemeral_c};
        const auto why = take(c, of_version(version)).failure();
        BOOST_TEST((why.code() == errc::refused));
        BOOST_TEST(why.message() == "the other side speaks version " + std::to_string(version) +
                                        " of the handshake, this build version 3; give all nodes "
                                        "the same release of Troupe");
    }
    // A connector of version 1 says nothing before it has 40 bytes that begin with magic and version.
    handshake a{handshake_side::acceptor, no_keys, ephemeral_a};
    const bytes last = a.last_words();
    BOOST_TEST_REQUIRE(last.size() == 40u);
    BOOST_TEST((bytes(last.begin(), last.begin() + 6) == bytes{std::byte{'T'}, std::byte{'R'},
                                                               std::byte{'P'}, std::byte{'H'},
                                                               std::byte{3}, std::byte{0}}));
}

BOOST_AUTO_TEST_CASE(messages_are_checked_for_order_direction_and_contents) {
    const session s = agreed();
    sealed_messages c{s.connector};
    sealed_messages a{s.acceptor};
    const auto open = [](sealed_messages& by, const bytes& m) -> std::string {
        const std::span head = std::span{m}.first<sealed_messages::head_bytes>();
        BOOST_TEST(sealed_messages::sealed_bytes(head).value() == m.size() - head.size());
        const auto payload = by.open(std::span{m}.subspan(head.size()));
        return payload
                   ? std::string{reinterpret_cast<const char*>(payload->data()), payload->size()}
                   : "refused";
    };
    const bytes first = c.seal(text("one"));
    const bytes second = c.seal(text("two"));
    sealed_messages fresh{s.acceptor};
    BOOST_TEST(open(fresh, second) == "refused"); // not the next one
    BOOST_TEST(open(a, first) == "one");
    BOOST_TEST(open(a, first) == "refused"); // again
    BOOST_TEST(open(c, first) == "refused"); // sent back
    for (std::size_t i = sealed_messages::head_bytes; i < second.size(); ++i) {
        bytes damaged = second;
        damaged[i] ^= std::byte{1};
        BOOST_TEST(open(a, damaged) == "refused");
    }
    BOOST_TEST(open(a, second) == "two");
}

BOOST_AUTO_TEST_CASE(nothing_of_a_message_is_seen_on_its_way) {
    sealed_messages c{agreed().connector};
    const std::string said(64, 'a');
    const bytes first = c.seal(text(said));
    const bytes second = c.seal(text(said));
    BOOST_TEST((first != second));
    for (const bytes& sealed : {first, second})
        BOOST_TEST(std::ranges::search(sealed, text("aaa")).empty());
}

BOOST_AUTO_TEST_CASE(the_length_of_a_message_is_bounded_before_it_is_read) {
    const auto is_refused = [](std::uint32_t length) {
        std::array<std::byte, sealed_messages::head_bytes> head;
        std::memcpy(head.data(), &length, sizeof length);
        const auto bytes = sealed_messages::sealed_bytes(head);
        return !bytes && bytes.failure().code() == errc::protocol;
    };
    constexpr auto tag = noise_cipher::tag_bytes;
    for (const std::size_t length :
         {std::size_t{0}, tag, limits::control_bytes_max + tag + 1, std::size_t{0xffffffff}})
        BOOST_TEST(is_refused(static_cast<std::uint32_t>(length)));
    for (const std::size_t length : {tag + 1, limits::control_bytes_max + tag})
        BOOST_TEST(!is_refused(static_cast<std::uint32_t>(length)));
}

BOOST_AUTO_TEST_CASE(control_messages_come_back_as_they_were) {
    random_token token;
    token.fill(std::byte{5});
    const node_identity identity;
    const hello_message hello{{{}, "left", "127.0.0.1:4242", peer_role::client},
                              identity.prove({}, handshake_side::acceptor),
                              memory_mark{4711, 12, token},
                              true,
                              false,
                              {1, 22}};
    const auto read = read_control(write_control(hello));
    const auto& again = std::get<hello_message>(read.value());
    BOOST_TEST(again.self.node == node_id{}); // nothing but the proof says it
    BOOST_TEST((again.identity == hello.identity));
    BOOST_TEST(again.self.name == "left");
    BOOST_TEST(again.self.address == "127.0.0.1:4242");
    BOOST_TEST((again.self.role == peer_role::client));
    BOOST_TEST((again.memory == hello.memory));
    BOOST_TEST(again.rdma);
    BOOST_TEST(!again.tcp);
    BOOST_TEST((again.ucx == ucx_version{1, 22}));
    hello_message bare{{{}, "left", "127.0.0.1:4242"}};
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
    hello.setName("left");
    hello.setAddress("127.0.0.1:1");
    const auto read = read_control(sent(builder));
    BOOST_TEST_REQUIRE(!read.ok());
    BOOST_TEST((read.failure().code() == errc::refused));
    BOOST_TEST(read.failure().message() == "the other node speaks version 1, this build version " +
                                               std::to_string(wire::version));
    hello.setVersion(wire::version);
    hello.initIdentity(32);
    hello.initSignature(64);
    BOOST_TEST(read_control(sent(builder)).ok());
}

BOOST_AUTO_TEST_CASE(a_hello_that_is_out_of_bounds_is_refused) {
    const hello_message good{{{}, "left", "127.0.0.1:1"}, {}, memory_mark{}};
    const auto is_refused = [&](auto change) {
        hello_message bad = good;
        change(bad);
        const auto read = read_control(write_control(bad));
        return !read.ok() && read.failure().code() == errc::protocol;
    };
    BOOST_TEST(!is_refused([](auto&) {}));
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

BOOST_AUTO_TEST_CASE(bytes_of_a_wrong_size_are_refused) {
    const auto is_read = [](unsigned identity, unsigned signature, unsigned token) {
        capnp::MallocMessageBuilder builder;
        auto hello = builder.initRoot<proto::Control>().initHello();
        hello.setVersion(wire::version);
        hello.initIdentity(identity);
        hello.initSignature(signature);
        hello.setName("left");
        hello.setAddress("127.0.0.1:1");
        hello.initMemory().initToken(token);
        return read_control(sent(builder)).ok();
    };
    for (const unsigned size : {0, 31, 32, 33, 63, 64, 65}) {
        BOOST_TEST(is_read(size, 64, 32) == (size == 32));
        BOOST_TEST(is_read(32, size, 32) == (size == 64));
        BOOST_TEST(is_read(32, 64, size) == (size == 32));
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
        write_control(hello_message{{{}, "left", "127.0.0.1:1"}, {}, memory_mark{1, 2, {}}});
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

BOOST_AUTO_TEST_CASE(an_acceptor_takes_any_of_its_keys_and_knows_whom_it_is_for) {
    std::vector<cluster_key> many{{"for all"}};
    for (const peer_role role : {peer_role::member, peer_role::client, peer_role::observer})
        many.push_back({"for " + std::to_string(static_cast<int>(role)), role});
    for (const cluster_key& offered : many) {
        handshake a{handshake_side::acceptor, many, ephemeral_a};
        handshake c{handshake_side::connector, {offered}, ephemeral_c};
        BOOST_TEST_REQUIRE(take(c, take(a, c.begin()).value()).ok());
        BOOST_TEST((a.secrets().key_for == offered.role));
        BOOST_TEST((c.secrets().key_for == offered.role));
        BOOST_TEST((a.secrets().name == c.secrets().name));
        BOOST_TEST((a.secrets().receive_key == c.secrets().send_key));
    }
    // A connector offers the first alone.
    handshake a{handshake_side::acceptor, {many[1]}, ephemeral_a};
    handshake c{handshake_side::connector, many, ephemeral_c};
    BOOST_TEST((take(a, c.begin()).failure().code() == errc::refused));
}

BOOST_AUTO_TEST_SUITE_END()
