// Control messages as bytes, and what is no message.
#include <boost/test/unit_test.hpp>

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <cstring>

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/random.hpp"
#include "schemas/handshake.capnp.h"
#include "transport/handshake/control.hpp"

using namespace troupe;
using bytes = std::vector<std::byte>;

namespace {

// As it is on the wire.
bytes sent(capnp::MessageBuilder& message) {
    const auto words = capnp::messageToFlatArray(message);
    const auto all = std::as_bytes(std::span{words.begin(), words.size()});
    return {all.begin(), all.end()};
}

} // namespace

BOOST_AUTO_TEST_SUITE(control_messages)

BOOST_AUTO_TEST_CASE(they_come_back_as_they_were) {
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
    for (const sight_message& sight : {sight_message{}, {true}, {true, {std::byte{7}}}}) {
        const auto read = std::get<sight_message>(read_control(write_control(sight)).value());
        BOOST_TEST((read.memory == sight.memory && read.kind == sight.kind));
    }
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

BOOST_AUTO_TEST_SUITE_END()
