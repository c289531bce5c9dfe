#include <boost/test/unit_test.hpp>

#include <capnp/message.h>

#include "actors/runtime/failure.hpp"
#include "schemas/base/limits.hpp"

using namespace troupe;

namespace {

// What is read where a peer has written this reason.
template <class Body>
error read_back(std::string_view reason) {
    capnp::MallocMessageBuilder message;
    auto body = message.initRoot<Body>();
    body.setReason(capnp::Text::Reader{std::string{reason}.c_str(), reason.size()});
    return read_failure(body.asReader());
}

} // namespace

BOOST_AUTO_TEST_SUITE(failures_in_messages)

BOOST_AUTO_TEST_CASE(a_failure_is_read_as_it_was_written) {
    capnp::MallocMessageBuilder message;
    auto body = message.initRoot<proto::Failure>();
    write_failure(body, error{errc::io, "cannot write /tmp/Büro: disk full"});
    const error again = read_failure(body.asReader());
    BOOST_TEST((again.code() == errc::io));
    BOOST_TEST(again.message() == "cannot write /tmp/Büro: disk full");
    body.setCode(200);
    BOOST_TEST((read_failure(body.asReader()).code() == errc::protocol));
}

BOOST_AUTO_TEST_CASE(a_peers_reason_does_nothing_to_a_terminal) {
    BOOST_TEST(read_back<proto::Failure>("a\x1b[2J\nb").message() == "a\\x1b[2J\\x0ab");
    BOOST_TEST(read_back<proto::Rejected>("a\x1b[2J\nb").message() == "a\\x1b[2J\\x0ab");
}

BOOST_AUTO_TEST_CASE(a_reason_of_megabytes_is_cut) {
    const std::string reason(5'000'000, 'r');
    const std::size_t longest = limits::reason_bytes_max + 3;
    BOOST_TEST(read_back<proto::Failure>(reason).message().size() == longest);
    BOOST_TEST(read_back<proto::Rejected>(reason).message().size() == longest);
    capnp::MallocMessageBuilder message;
    auto body = message.initRoot<proto::Failure>();
    write_failure(body, error{errc::io, reason});
    BOOST_TEST(body.getReason().size() == longest);
}

BOOST_AUTO_TEST_SUITE_END()
