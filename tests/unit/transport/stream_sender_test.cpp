// A sender over TCP whose connection takes little, or nothing any more.
#include <boost/test/unit_test.hpp>

#include "tests/unit/transport/recording_listener.hpp"
#include "transport/tcp/frame_stream.hpp"
#include "transport/tcp/plain_stream.hpp"

using namespace troupe;

namespace {

// A connection that takes so many bytes, and then no more or fails.
class bounded_stream final : public byte_stream {
  public:
    result<std::size_t> write(std::span<const iovec> pieces) override {
        if (has_ended)
            return error{errc::lost, "ended"};
        std::size_t taken = 0;
        for (const iovec& piece : pieces)
            taken += piece.iov_len;
        largest = std::max(largest, taken);
        taken = std::min(taken, takes);
        takes -= taken;
        written += taken;
        return taken;
    }
    result<std::size_t> read(std::span<const iovec>) override { return std::size_t{0}; }
    int descriptor() const noexcept override { return -1; }
    void shut_down() noexcept override {}

    std::size_t takes = 0;
    std::size_t written = 0;
    std::size_t largest = 0; // number of bytes offered at once
    bool has_ended = false;
};

struct sending {
    explicit sending(std::size_t frames_soft = 1000) : queue{{.frames_soft = frames_soft}} {
        queue.open();
        sender.open(stream);
    }
    send_queue::outcome push(std::uint64_t number) {
        const frame_ptr f = numbered_frame(number);
        return queue.push(f, wire::measure(*f).value());
    }

    bounded_stream stream;
    send_queue queue;
    stream_sender sender{queue, {}};
};

const std::size_t frame_bytes =
    wire::header_bytes + wire::measure(*numbered_frame(0)).value().words * sizeof(capnp::word);

} // namespace

BOOST_AUTO_TEST_SUITE(stream_senders)

BOOST_AUTO_TEST_CASE(what_a_full_connection_does_not_take_is_written_later) {
    sending s{2};
    for (std::uint64_t i = 0; i < 4; ++i)
        BOOST_TEST((s.push(i) ==
                    (i < 2 ? send_queue::outcome::accepted : send_queue::outcome::congested)));
    s.stream.takes = frame_bytes + 10;
    const auto first = s.sender.flush();
    BOOST_TEST(first.is_blocked);
    BOOST_TEST(!first.is_writable);
    BOOST_TEST(s.sender.under_way()->oldest == 1u);
    BOOST_TEST(!s.sender.is_drained());
    s.stream.takes = 3 * frame_bytes;
    const auto rest = s.sender.flush();
    BOOST_TEST(!rest.is_blocked);
    BOOST_TEST(rest.is_writable); // once for the congestion
    BOOST_TEST(s.stream.written == 4 * frame_bytes);
    BOOST_TEST(!s.sender.under_way().has_value());
    BOOST_TEST(s.sender.is_drained());
    BOOST_TEST(s.sender.frames() == 4u);
}

BOOST_AUTO_TEST_CASE(a_connection_that_has_ended_is_told_each_time_and_keeps_nobody) {
    sending s;
    s.push(1);
    s.stream.has_ended = true;
    BOOST_TEST(s.sender.flush().has_failed);
    s.push(2);
    BOOST_TEST(s.sender.flush().has_failed);
    s.sender.close();
    s.push(3);
    (void)s.sender.flush();
    BOOST_TEST(s.stream.written == 0u);
}

BOOST_AUTO_TEST_CASE(a_large_tensor_is_written_a_megabyte_at_a_time) {
    sending s;
    memory_pool pool{1u << 26};
    frame_builder<proto::Rejected> b;
    b.attach(tensor::allocate(pool, data_type::uint8, {16u << 20}).value());
    const frame_ptr f = std::move(b).finish();
    const auto measured = wire::measure(*f).value();
    s.queue.push(f, measured);
    s.stream.takes = 1u << 30;
    BOOST_TEST(s.sender.flush().is_blocked); // others have their turn
    BOOST_TEST(s.stream.largest <= 1u << 20);
    while (s.sender.flush().is_blocked) {
    }
    BOOST_TEST(s.stream.written == wire::header_bytes + payload_bytes(measured));
}

BOOST_AUTO_TEST_CASE(one_flush_takes_a_few_megabytes_and_the_next_goes_on) {
    sending s;
    const std::size_t frames = (8u << 20) / frame_bytes;
    for (std::uint64_t i = 0; i < frames; ++i)
        s.push(i);
    s.stream.takes = frames * frame_bytes;
    std::size_t flushes = 0;
    do {
        BOOST_TEST_REQUIRE(++flushes < 10u);
    } while (s.sender.flush().is_blocked);
    BOOST_TEST(flushes > 1u);
    BOOST_TEST(s.stream.written == frames * frame_bytes);
}

// The system takes what it will send later, over a slow link minutes later.
BOOST_AUTO_TEST_CASE(bytes_that_nobody_reads_have_not_moved) {
    int ends[2];
    BOOST_TEST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    const file_descriptor reader{ends[1]};
    poll_set poll;
    memory_pool pool{1 << 20};
    const monotonic_time time;
    send_queue queue{{}};
    named_places places;
    queue.open();
    frame_stream stream{queue, places, {}, {&pool, &time, std::chrono::seconds{1}, {}}, poll, 1};
    stream.open(std::make_unique<plain_stream>(file_descriptor{ends[0]}));
    std::size_t bytes = 0;
    for (std::uint64_t i = 0; i < 100; ++i, bytes += frame_bytes) {
        const frame_ptr f = numbered_frame(i);
        queue.push(f, wire::measure(*f).value());
    }
    (void)stream.flush();
    BOOST_TEST(stream.sender().bytes_written() == bytes);
    BOOST_TEST(stream.bytes_moved() == 0u);
    std::vector<std::byte> read(bytes);
    const iovec place{read.data(), read.size()};
    BOOST_TEST(receive_some(reader.get(), {&place, 1}).value() == bytes);
    BOOST_TEST(stream.bytes_moved() == bytes);
    const iovec answer{read.data(), 10};
    BOOST_TEST(send_some(reader.get(), {&answer, 1}).value() == 10u);
    std::vector<frame_ptr> arrived;
    BOOST_TEST(stream.receive(arrived).value() == 10u);
    BOOST_TEST(stream.bytes_moved() == bytes + 10);
}

BOOST_AUTO_TEST_SUITE_END()
