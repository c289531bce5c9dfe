#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "transport/handshake/noise.hpp"

using namespace troupe;
using bytes = std::vector<std::byte>;

namespace {

bytes from_hex(std::string_view hex) {
    bytes out;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        out.push_back(
            static_cast<std::byte>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
    return out;
}

secret_key key_from_hex(std::string_view hex) {
    secret_key key{};
    const bytes read = from_hex(hex);
    std::copy(read.begin(), read.end(), key.begin());
    return key;
}

struct line {
    std::string_view text;
    std::string_view message;
};

// The vector of the Haskell library "cacophony" for this protocol: prologue, key and ephemeral keys, then messages in turn.
constexpr std::string_view prologue = "4a6f686e2047616c74";
constexpr std::string_view psk = "54686973206973206d7920417573747269616e20706572737065637469766521";
constexpr std::string_view of_initiator =
    "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
constexpr std::string_view of_responder =
    "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";
constexpr std::string_view handshake_name =
    "ed5e9692d0ab507b6c2beec3f584fd5b127817a9d20b26cd50aa72c507260fa3"
    "1aa7d88dd3723316338af37ce0b4cfb2923aeb848bbf2b934911306f01ffc963";
constexpr line lines[] = {
    {"4c756477696720766f6e204d69736573",
     "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
     "ed63df2f5a12aee1185ee9c50305f2ecf12421dcb53c047a63b784cf7c54a105"},
    {"4d757272617920526f746862617264",
     "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
     "0e0fe7d5c0c9b92f7478716c8852f1b4f389edb75e3ebe546fafafd5b6f0f7"},
    {"462e20412e20486179656b", "0fe04b26dcfbb69f8a6a94c61f1a26ef88769218d32f5d17c068a6"},
    {"4361726c204d656e676572", "2239e0c540c01f09eb1f4cc5258fd5acfefff18a5a3773f21b7bfe"},
    {"4a65616e2d426170746973746520536179",
     "f216cb03d30fb8af1e561fe02a07552d09b416e27a75e62c77d193718b0bdaae9f"},
    {"457567656e2042f6686d20766f6e2042617765726b",
     "6e8baf98b944184dd7dc5ef14d8108cbeca626de118a5460f3308e294d61e17238bce29bd9"}};

} // namespace

BOOST_AUTO_TEST_SUITE(noise)

BOOST_AUTO_TEST_CASE(handshake_and_messages_are_those_of_the_published_vector) {
    noise_handshake initiator{noise_side::initiator, key_from_hex(psk), from_hex(prologue),
                              key_from_hex(of_initiator)};
    noise_handshake responder{noise_side::responder, key_from_hex(psk), from_hex(prologue),
                              key_from_hex(of_responder)};
    const bytes first = initiator.write(from_hex(lines[0].text));
    BOOST_TEST((first == from_hex(lines[0].message)));
    BOOST_TEST((responder.read(first).value() == from_hex(lines[0].text)));
    const bytes second = responder.write(from_hex(lines[1].text));
    BOOST_TEST((second == from_hex(lines[1].message)));
    BOOST_TEST((initiator.read(second).value() == from_hex(lines[1].text)));
    for (const noise_handshake* side : {&initiator, &responder})
        BOOST_TEST((bytes(side->name().begin(), side->name().end()) == from_hex(handshake_name)));

    const auto of_one = initiator.finish("for a test");
    const auto of_other = responder.finish("for a test");
    noise_cipher to_other{of_one.send_key}, from_one{of_other.receive_key};
    noise_cipher to_one{of_other.send_key}, from_other{of_one.receive_key};
    for (std::size_t i = 2; i < std::size(lines); ++i) {
        const bytes sealed = (i % 2 == 0 ? to_other : to_one).seal(from_hex(lines[i].text));
        BOOST_TEST((sealed == from_hex(lines[i].message)));
        BOOST_TEST(
            ((i % 2 == 0 ? from_one : from_other).open(sealed).value() == from_hex(lines[i].text)));
    }
}

BOOST_AUTO_TEST_CASE(further_secrets_are_those_of_their_label_and_direction) {
    noise_handshake initiator{noise_side::initiator, {}, {}, key_from_hex(of_initiator)};
    noise_handshake responder{noise_side::responder, {}, {}, key_from_hex(of_responder)};
    BOOST_TEST_REQUIRE(responder.read(initiator.write()).ok());
    BOOST_TEST_REQUIRE(initiator.read(responder.write()).ok());
    const auto one = initiator.finish("one"), other = responder.finish("one");
    BOOST_TEST((one.send_extra == other.receive_extra));
    BOOST_TEST((one.receive_extra == other.send_extra));
    BOOST_TEST((one.send_extra != one.receive_extra));
    BOOST_TEST((one.send_extra != one.send_key));
    BOOST_TEST((one.send_extra != initiator.finish("two").send_extra));
    BOOST_TEST((one.send_key == initiator.finish("two").send_key));
}

BOOST_AUTO_TEST_CASE(sides_with_another_key_or_prologue_do_not_agree) {
    const auto agree = [](std::byte key, std::byte said) {
        const std::array here{std::byte{1}}, there{said};
        noise_handshake initiator{
            noise_side::initiator, {std::byte{1}}, here, key_from_hex(of_initiator)};
        noise_handshake responder{noise_side::responder, {key}, there, key_from_hex(of_responder)};
        const auto read = responder.read(initiator.write());
        return read.ok() || read.failure().code() != errc::refused;
    };
    BOOST_TEST(agree(std::byte{1}, std::byte{1}));
    BOOST_TEST(!agree(std::byte{2}, std::byte{1}));
    BOOST_TEST(!agree(std::byte{1}, std::byte{2}));
}

BOOST_AUTO_TEST_CASE(what_is_not_sealed_counts_and_a_refused_message_takes_no_number) {
    noise_cipher sending{key_from_hex(psk)}, receiving{key_from_hex(psk)};
    const auto text = from_hex("0102"), beside = from_hex("03"), other = from_hex("04");
    const bytes sealed = sending.seal(text, beside);
    BOOST_TEST(!receiving.open(sealed, other).ok());
    BOOST_TEST(!receiving.open(std::span{sealed}.first(15), beside).ok());
    BOOST_TEST((receiving.open(sealed, beside).value() == text));
    BOOST_TEST(!receiving.open(sealed, beside).ok());
}

BOOST_AUTO_TEST_SUITE_END()
