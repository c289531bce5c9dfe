// A receiver over TCP while there is no memory, and the addresses that are of this machine alone.
#include <boost/test/unit_test.hpp>

#include <cstring>

#include "transport/tcp/socket.hpp"
#include "transport/tcp/stream_receiver.hpp"

using namespace troupe;

namespace {

constexpr place_name place{actor_number{7}, 3};

class set_time final : public time_source {
  public:
    time_point now() const noexcept override { return time; }
    time_point time{};
};

// Gives these bytes, and then nothing.
class given_bytes final : public byte_stream {
  public:
    void add(const frame& f, std::uint64_t sequence) {
        wire::header h = wire::measure(f).value();
        h.sequence = sequence;
        std::vector<std::byte> head(wire::header_bytes + h.words * sizeof(capnp::word));
        wire::write_header(h, std::span{head}.first<wire::header_bytes>());
        wire::write_words(f, std::span{head}.subspan(wire::header_bytes));
        bytes_.insert(bytes_.end(), head.begin(), head.end());
        for (const auto piece : wire::tensor_section(f))
            bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    }

    result<std::size_t> write(std::span<const iovec>) override { return std::size_t{0}; }
    result<std::size_t> read(std::span<const iovec> places) override {
        std::size_t given = 0;
        for (const iovec& p : places) {
            const std::size_t now = std::min(p.iov_len, bytes_.size() - at_);
            if (now > 0)
                std::memcpy(p.iov_base, bytes_.data() + at_, now);
            at_ += now;
            given += now;
        }
        return given;
    }
    int descriptor() const noexcept override { return -1; }
    void shut_down() noexcept override {}

  private:
    std::vector<std::byte> bytes_;
    std::size_t at_ = 0;
};

frame_ptr frame_with(const tensor& t, place_name named) {
    frame_builder<proto::Rejected> b;
    b.envelope().getTo().setActor(named.actor.value());
    b.attach(t);
    b.name_place(named);
    return std::move(b).finish();
}

struct receiving {
    memory_pool elsewhere{1u << 26};
    memory_pool pool{1u << 20};
    set_time time;
    named_places places;
    stream_receiver receiver{{&pool, &time, std::chrono::seconds{30}, {}}, places};
    given_bytes bytes;
    std::vector<frame_ptr> frames;
    tensor payload = tensor::allocate(elsewhere, data_type::uint8, {600'000}).value();
};

} // namespace

BOOST_AUTO_TEST_SUITE(stream_receivers)

BOOST_AUTO_TEST_CASE(a_frame_that_waits_for_memory_goes_on_in_a_place_that_is_named_meanwhile) {
    receiving r;
    auto all = r.pool.allocate(600'000).value(); // leaves too little for the frame
    for (std::uint64_t i = 0; i < 2; ++i)
        r.bytes.add(*frame_with(r.payload, {place.actor, i}), i);
    BOOST_TEST(r.receiver.receive(r.bytes, r.frames).ok());
    BOOST_TEST(r.receiver.is_waiting_for_memory());
    for (std::uint64_t i = 0; i < 2; ++i) {
        const tensor here = tensor::allocate(r.elsewhere, data_type::uint8, {600'000}).value();
        BOOST_TEST(r.places.add({{place.actor, i}, here}));
    }
    BOOST_TEST(r.receiver.receive(r.bytes, r.frames).ok());
    BOOST_TEST(!r.receiver.is_waiting_for_memory());
    BOOST_TEST(r.frames.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_frame_waits_for_memory_as_long_as_it_may_and_no_longer) {
    receiving r;
    auto all = r.pool.allocate(600'000).value();
    r.bytes.add(*frame_with(r.payload, {}), 0);
    BOOST_TEST(r.receiver.receive(r.bytes, r.frames).ok());
    r.time.time = r.time.time + std::chrono::seconds{29};
    BOOST_TEST(r.receiver.receive(r.bytes, r.frames).ok());
    r.time.time = r.time.time + std::chrono::seconds{2};
    const auto late = r.receiver.receive(r.bytes, r.frames);
    BOOST_TEST_REQUIRE(!late.ok());
    BOOST_TEST((late.failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(loopback_addresses_are_known_in_every_form) {
    for (const char* local : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"})
        BOOST_TEST(parse_address(local).value().is_loopback(), local);
    for (const char* other : {"10.0.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1", "128.0.0.1:1"})
        BOOST_TEST(!parse_address(other).value().is_loopback(), other);
}

BOOST_AUTO_TEST_SUITE_END()
