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
