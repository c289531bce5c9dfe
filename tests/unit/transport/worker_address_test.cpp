#include "transport/ucx/worker_address.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>

#include "transport/ucx/ucx_worker.hpp"
#include "transport/ucx/worker_memory.hpp"

using namespace troupe;

namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t header_bytes = 9;

// Two workers of this process.
struct pair {
    std::unique_ptr<ucx_context> context =
        ucx_context::create(ucx_transport::shared_memory).value();
    std::unique_ptr<ucx_worker> ours = ucx_worker::create(*context).value();
    std::unique_ptr<ucx_worker> peers = ucx_worker::create(*context).value();
};

std::uint32_t this_process() {
    return static_cast<std::uint32_t>(getpid());
}

std::string refusal(const pair& p, const bytes& address, std::uint32_t process = this_process()) {
    const auto ep = p.ours->connect(
        address, process, [](void*, ucp_ep_h, ucs_status_t) {}, nullptr);
    BOOST_TEST_REQUIRE(!ep.ok());
    BOOST_TEST((ep.failure().code() == errc::refused));
    return ep.failure().message();
}

// Where a part of the address begins.
std::size_t place_of(const bytes& address, std::span<const std::byte> part) {
    return static_cast<std::size_t>(part.data() - address.data());
}

std::span<const std::byte> segment_of(const bytes& address, memory_transport name) {
    const auto parsed = read_worker_address(address).value();
    for (const auto& t : parsed.transports)
        if (t.name == name)
            return t.segment;
    return {};
}

} // namespace

BOOST_AUTO_TEST_SUITE(worker_addresses)

BOOST_AUTO_TEST_CASE(an_address_of_ucx_is_read_to_its_last_byte) {
    const pair p;
    const bytes& address = p.peers->address();
    const auto read = read_worker_address(address).value();
    BOOST_TEST((place_of(address, read.worker) == 1 && read.worker.size() == 8));
    BOOST_TEST(!read.transports.empty());
    const auto& last = read.transports.back().segment;
    BOOST_TEST(place_of(address, last) + last.size() == address.size());
    BOOST_TEST(check_alike(read, read_worker_address(p.ours->address()).value()).ok());
    BOOST_TEST(
        check_memory(read, read_worker_address(p.ours->address()).value(), this_process()).ok());
}

BOOST_AUTO_TEST_CASE(an_address_that_ends_early_or_goes_on_is_not_read) {
    const pair p;
    const bytes& whole = p.peers->address();
    for (std::size_t length = 0; length < whole.size(); ++length)
        BOOST_TEST(!read_worker_address(std::span{whole}.first(length)).ok(), length);
    bytes longer = whole;
    longer.push_back({});
    BOOST_TEST(!read_worker_address(longer).ok());
}

BOOST_AUTO_TEST_CASE(any_bit_but_those_of_a_workers_id_makes_another_address_that_is_refused) {
    const pair p;
    for (std::size_t at = 0; at < p.peers->address().size(); ++at)
        for (unsigned bit = 0; bit < 8; ++bit) {
            // Where the own loopback is, which nobody is reached through, any id goes.
            const auto loopback = segment_of(p.peers->address(), memory_transport::self);
            const std::size_t begin = place_of(p.peers->address(), loopback);
            const bool is_id =
                (at > 0 && at < header_bytes) || (at >= begin && at < begin + loopback.size());
            bytes altered = p.peers->address();
            altered[at] ^= std::byte{1} << bit;
            const auto read = read_worker_address(altered);
            const auto ours = read_worker_address(p.ours->address()).value();
            const bool is_taken = read.ok() && check_alike(*read, ours).ok() &&
                                  check_memory(*read, ours, this_process()).ok();
            BOOST_TEST(is_taken == is_id, at << " bit " << bit);
        }
}

BOOST_AUTO_TEST_CASE(an_altered_worker_address_ends_no_process) {
    const pair p;
    bytes altered = p.peers->address();
    for (std::size_t at = 20; at < 27; ++at)
        altered[at] = std::byte{0xff};
    BOOST_TEST(refusal(p, altered).starts_with("the address of its UCX worker is refused: it "));
    BOOST_TEST(refusal(p, {}).find("format of UCX") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(memory_of_another_process_than_the_peers_is_refused) {
    const pair p;
    BOOST_TEST(refusal(p, p.peers->address(), static_cast<std::uint32_t>(getppid())) ==
               "the address of its UCX worker is refused: it names memory of another process");
}

BOOST_AUTO_TEST_CASE(a_worker_is_not_connected_to_itself) {
    const pair p;
    BOOST_TEST(refusal(p, p.ours->address()).find("this node's worker") != std::string::npos);
    bytes mixed = p.peers->address();
    for (const auto name : {memory_transport::posix, memory_transport::sysv}) {
        const auto own = segment_of(p.ours->address(), name);
        std::ranges::copy(own, mixed.begin() + static_cast<std::ptrdiff_t>(
                                                   place_of(mixed, segment_of(mixed, name))));
        BOOST_TEST(refusal(p, mixed).find("memory of this node's worker") != std::string::npos);
    }
}

// UCX would abort once the peer's own messages name the device.
BOOST_AUTO_TEST_CASE(an_address_that_leaves_a_device_out_is_refused) {
    const pair p;
    bytes less = p.peers->address();
    const auto transports = read_worker_address(less).value().transports;
    const auto device = [&](const auto& t) { return place_of(less, t.device); };
    const std::size_t before = device(transports.end()[-2]), last = device(transports.back());
    less[before - 1] |= std::byte{0x80};
    less.resize(last - 2);
    BOOST_TEST(read_worker_address(less).ok());
    BOOST_TEST(refusal(p, less).find("other transports") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
