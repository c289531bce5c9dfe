#include <boost/test/unit_test.hpp>

#include <set>

#include "transport/handshake/admission.hpp"
#include "transport/handshake/identity.hpp"

using namespace troupe;

namespace {

constexpr random_token seed_a{std::byte{1}}, seed_b{std::byte{2}};
constexpr noise_hash here{std::byte{1}}, there{std::byte{2}};
constexpr auto connector = handshake_side::connector, acceptor = handshake_side::acceptor;

constexpr std::array all_roles{peer_role::member, peer_role::client, peer_role::observer};

} // namespace

BOOST_AUTO_TEST_SUITE(identities)

BOOST_AUTO_TEST_CASE(the_id_of_a_node_is_a_hash_of_its_public_key) {
    const identity_proof proof = node_identity{seed_a}.prove(here, connector);
    // Ed25519's public key of this seed, and the hash, by Python: "cryptography" and hashlib.
    BOOST_TEST(node_identity{seed_a}.node().value() == 7930633391888586881u);
    BOOST_TEST((proof.key[0] == std::byte{206}));
    BOOST_TEST(node_identity{seed_a}.node() == node_identity{seed_a}.node());
    BOOST_TEST(node_identity{seed_a}.node() != node_identity{seed_b}.node());
    std::set<node_id> drawn;
    for (int i = 0; i < 100; ++i)
        drawn.insert(node_identity{}.node());
    BOOST_TEST(drawn.size() == 100u);
    BOOST_TEST(!drawn.contains(node_id{}));
}

BOOST_AUTO_TEST_CASE(a_proof_holds_on_its_connection_from_its_side_alone) {
    const node_identity a{seed_a};
    for (const handshake_side side : {connector, acceptor}) {
        const identity_proof proof = a.prove(here, side);
        BOOST_TEST(proven_node(proof, here, side).value() == a.node());
        BOOST_TEST((proven_node(proof, there, side).failure().code() == errc::refused));
        const handshake_side other = side == connector ? acceptor : connector;
        BOOST_TEST((proven_node(proof, here, other).failure().code() == errc::refused));
    }
}

BOOST_AUTO_TEST_CASE(nobody_else_can_make_it) {
    const node_identity a{seed_a}, b{seed_b};
    const identity_proof right = a.prove(here, connector);
    identity_proof forged = b.prove(here, connector);
    forged.key = right.key;
    BOOST_TEST(!proven_node(forged, here, connector).ok());
    BOOST_TEST(!proven_node({}, here, connector).ok());
    for (std::size_t bit = 0; bit < 8 * right.key.size(); ++bit) {
        identity_proof damaged = right;
        damaged.key[bit / 8] ^= std::byte{1} << (bit % 8);
        BOOST_TEST(!proven_node(damaged, here, connector).ok(), "key, bit " << bit);
    }
    for (std::size_t bit = 0; bit < 8 * right.signature.size(); ++bit) {
        identity_proof damaged = right;
        damaged.signature[bit / 8] ^= std::byte{1} << (bit % 8);
        BOOST_TEST(!proven_node(damaged, here, connector).ok(), "signature, bit " << bit);
    }
}

BOOST_AUTO_TEST_CASE(who_connects_has_the_role_of_the_key) {
    for (const peer_role role : all_roles) {
        BOOST_TEST(check_role(role, connector, {}).ok());
        for (const peer_role key_for : all_roles)
            BOOST_TEST(check_role(role, connector, key_for).ok() == (role == key_for));
    }
    const error why = check_role(peer_role::client, connector, peer_role::observer).failure();
    BOOST_TEST((why.code() == errc::refused));
    BOOST_TEST(why.message() == "the key that was proven is for observers, and a run needs one for "
                                "runs: a line 'run KEY' in the file that both sides get by --key "
                                "FILE");
}

BOOST_AUTO_TEST_CASE(who_accepts_may_hold_the_keys_of_others_unless_it_is_an_observer) {
    for (const peer_role role : all_roles) {
        BOOST_TEST(check_role(role, acceptor, {}).ok());
        for (const peer_role key_for : all_roles)
            BOOST_TEST(check_role(role, acceptor, key_for).ok() ==
                       (role != peer_role::observer || key_for == peer_role::observer));
    }
}

BOOST_AUTO_TEST_CASE(a_hello_is_believed_once_its_identity_and_role_are_proven) {
    session_secrets session{};
    session.name = here;
    session.key_for = peer_role::client;
    const node_identity a{seed_a};
    hello_message hello{{node_id{5}, "left", "127.0.0.1:1", peer_role::client}};
    hello.identity = a.prove(here, connector);
    const auto peer = admitted(hello, session, connector);
    BOOST_TEST_REQUIRE(peer.ok());
    BOOST_TEST(peer->node == a.node());
    BOOST_TEST(peer->name == "left");
    hello.self.role = peer_role::member;
    BOOST_TEST(!admitted(hello, session, connector).ok());
    hello.self.role = peer_role::client;
    session.name = there;
    BOOST_TEST(!admitted(hello, session, connector).ok());
}

BOOST_AUTO_TEST_SUITE_END()
