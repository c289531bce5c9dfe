#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include "schemas/base/random.hpp"
#include "transport/frame/wire.hpp"

using namespace troupe;

namespace {

memory_pool& pool() {
    static memory_pool p{1 << 26};
    return p;
}

tensor filled(data_type type, tensor_shape shape, int value) {
    tensor t = tensor::allocate(pool(), type, shape).value();
    std::memset(t.mutable_data(), value, t.bytes());
    return t;
}

frame_ptr example(std::size_t reason_bytes = 10) {
    frame_builder<proto::Rejected> b;
    b.envelope().setWork(42);
    b.body().setReason(std::string(reason_bytes, 'r'));
    b.attach(filled(data_type::uint8, {3}, 1));
    b.attach(filled(data_type::float32, {2, 5}, 2));
    b.attach(filled(data_type::int32, {0, 7}, 3));
    b.attach(filled(data_type::int32, {}, 4));
    b.attach(filled(data_type::float64, {3}, 5));
    b.attach(filled(data_type::int64, {1, 2}, 6));
    return std::move(b).finish();
}

std::vector<std::byte> bytes_of(const frame_ptr& f) {
    return wire::serialize(*f).value();
}

// The words of a frame with `descriptors` written by `fill` instead of those of real tensors.
template <class Fill>
std::vector<std::byte> forged(std::uint16_t tensors, std::uint64_t tensor_bytes, Fill fill) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<proto::Frame>();
    root.initEnvelope();
    fill(root);
    const auto segments = message.getSegmentsForOutput();
    BOOST_TEST_REQUIRE(segments.size() == 1u);
    wire::header h;
    h.tensors = tensors;
    h.words = segments[0].size() + 1;
    h.tensor_bytes = tensor_bytes;
    std::vector<std::byte> out(wire::header_bytes + wire::aligned(h.words * 8) + tensor_bytes);
    wire::write_header(h, std::span{out}.first<wire::header_bytes>());
    const auto size = static_cast<std::uint32_t>(segments[0].size());
    std::memcpy(out.data() + wire::header_bytes + 4, &size, sizeof size);
    std::memcpy(out.data() + wire::header_bytes + 8, segments[0].begin(), segments[0].size() * 8);
    return out;
}

void refused(std::span<const std::byte> in, const std::string& why) {
    const auto f = wire::deserialize(in, pool());
    BOOST_TEST_REQUIRE(!f.ok());
    BOOST_TEST((f.failure().code() == errc::protocol));
    BOOST_TEST(f.failure().message().find(why) != std::string::npos, f.failure().message());
}

} // namespace

BOOST_AUTO_TEST_SUITE(wire_format)

BOOST_AUTO_TEST_CASE(a_frame_comes_back_as_it_was) {
    for (const std::size_t reason :
         {10, 1000, 100000}) { // one segment in the object, own memory, many segments
        const frame_ptr sent = example(reason);
        const auto read = wire::deserialize(bytes_of(sent), pool());
        BOOST_TEST_REQUIRE(read.ok());
        const frame_ptr f = *read;
        BOOST_TEST(f->body_type() == type_id_of<proto::Rejected>());
        BOOST_TEST(f->envelope().getWork() == 42u);
        BOOST_TEST(f->body<proto::Rejected>().getReason().size() == reason);
        BOOST_TEST_REQUIRE(f->tensors().size() == 6u);
        for (std::size_t i = 0; i < 4; ++i) {
            BOOST_TEST((f->tensors()[i].shape() == sent->tensors()[i].shape()));
            BOOST_TEST((f->tensors()[i].type() == sent->tensors()[i].type()));
            BOOST_TEST(std::memcmp(f->tensors()[i].data(), sent->tensors()[i].data(),
                                   sent->tensors()[i].bytes()) == 0);
        }
        BOOST_TEST((bytes_of(f) == bytes_of(sent))); // a frame may be passed on
    }
}

BOOST_AUTO_TEST_CASE(the_header_has_the_layout_of_the_specification) {
    wire::header h{
        .tensors = 2, .words = 4, .sequence = 5, .tensor_bytes = 6, .place = {actor_number{8}, 9}};
    h.token.fill(std::byte{7});
    std::array<std::byte, wire::header_bytes> bytes;
    wire::write_header(h, bytes);
    const unsigned char expected[] = {'T', 'R', 'P', 'F', 6, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0,
                                      7,   7,   7,   7,   7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
                                      5,   0,   0,   0,   0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0,
                                      8,   0,   0,   0,   0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
    static_assert(sizeof expected == wire::header_bytes);
    BOOST_TEST(std::memcmp(bytes.data(), expected, sizeof expected) == 0);
    const auto read = wire::read_header(bytes);
    BOOST_TEST_REQUIRE(read.ok());
    BOOST_TEST(read->tensors == 2u);
    BOOST_TEST(read->words == 4u);
    BOOST_TEST(read->sequence == 5u);
    BOOST_TEST((read->token == h.token));
    BOOST_TEST((read->place == h.place));
}

BOOST_AUTO_TEST_CASE(a_header_past_a_limit_is_refused) {
    const auto good = bytes_of(example());
    const auto with = [&](std::size_t at, std::uint64_t value, std::size_t size) {
        auto bad = good;
        std::memcpy(bad.data() + at, &value, size);
        return bad;
    };
    refused({}, "shorter than a header");
    refused(with(0, 0, 4), "not a frame");
    refused(with(4, 1, 2), "version 1");
    refused(with(6, limits::frame_tensors_max + 1, 2), "tensors");
    refused(with(8, 0, 8), "0 words");
    refused(with(8, limits::frame_words_max + 1, 8), "words");
    refused(with(8, 1ull << 61, 8), "words"); // no bytes, if nobody looks at overflow
    refused(with(40, limits::frame_bytes_max + 1, 8), "tensor bytes");
    refused(with(6, 0, 2), "tensor bytes");
    refused(with(6, 3, 2), "descriptors");
    refused(std::span{good}.first(good.size() - 1), "not as long");
}

BOOST_AUTO_TEST_CASE(more_segments_than_words_are_refused) {
    std::vector<std::byte> in(wire::header_bytes + wire::alignment);
    wire::write_header({.words = 3}, std::span{in}.first<wire::header_bytes>());
    // All three words, if the count of segments overflows to none.
    const std::uint32_t segments_less_one = 0xffffffff, words = 2;
    std::memcpy(in.data() + wire::header_bytes, &segments_less_one, sizeof segments_less_one);
    std::memcpy(in.data() + wire::header_bytes + 4, &words, sizeof words);
    refused(in, "segments");
}

BOOST_AUTO_TEST_CASE(descriptors_must_agree_with_the_bytes) {
    const auto one = [](auto change) {
        return [change](proto::Frame::Builder root) {
            auto d = root.initTensors(1)[0];
            d.setType(proto::DataType::FLOAT32);
            d.initShape(1).set(0, 4);
            d.setBytes(16);
            change(d);
        };
    };
    const auto nothing = [](proto::TensorDescriptor::Builder) {};
    BOOST_TEST(wire::deserialize(forged(1, 16, one(nothing)), pool()).ok());
    refused(forged(1, 20, one(nothing)), "more bytes than tensors");
    refused(forged(1, 12, one(nothing)), "more tensors than bytes");
    refused(forged(1, 16, one([](auto d) { d.setBytes(12); })), "whose shape says");
    refused(forged(1, 16, one([](auto d) { d.setType(static_cast<proto::DataType>(9)); })),
            "data type 9");
    refused(forged(1, 16, one([](auto d) { d.setCodec(static_cast<proto::Codec>(9)); })), "codec");
    refused(forged(1, 16, one([](auto d) { d.initShape(9); })), "rank 9");
    refused(forged(1, 16, one([](auto d) {
                       auto shape = d.initShape(
                           4); // 2^64 elements and 16 bytes, if nobody looks at overflow
                       for (unsigned i = 0; i < 4; ++i)
                           shape.set(i, 1u << 16);
                   })),
            "too many elements");
    refused(forged(1, 16, one([](auto d) {
                       auto shape = d.initShape(3);
                       shape.set(1, ~std::uint64_t{0});
                       shape.set(2, ~std::uint64_t{0});
                   })),
            "too many elements");
    refused(forged(0, 0, [](auto root) { root.getEnvelope().setVersion(2); }),
            "envelope of version 2");
}

BOOST_AUTO_TEST_CASE(a_tensor_lies_where_numbers_of_its_type_may) {
    for (const data_type type : {data_type::float32, data_type::float64}) {
        frame_builder<proto::Rejected> b;
        b.attach(filled(type, {3}, 1));
        const auto bytes = bytes_of(std::move(b).finish());
        const wire::header h = wire::read_header(bytes).value();
        const std::size_t words_bytes = h.words * sizeof(capnp::word);
        for (const std::size_t at : {4, 8}) {
            const auto f = wire::read_frame(
                h, {.words = std::span{bytes}.subspan(wire::header_bytes, words_bytes),
                    .buffer = pool().allocate(100).value(),
                    .tensors_at = at});
            BOOST_TEST(f.ok() == (at % size_of(type) == 0));
            if (!f)
                BOOST_TEST(f.failure().message() ==
                           "malformed frame: a tensor where numbers of its type do not lie");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_frame_names_a_place_of_the_actor_that_it_is_for) {
    const auto named = [](place_name name) {
        frame_builder<proto::Rejected> b;
        b.envelope().getTo().setActor(7);
        b.name_place(name);
        return bytes_of(std::move(b).finish());
    };
    BOOST_TEST(wire::deserialize(named({}), pool()).ok());
    BOOST_TEST(wire::deserialize(named({actor_number{7}, 1}), pool()).ok());
    refused(named({actor_number{8}, 1}), "the place of another actor");
}

BOOST_AUTO_TEST_CASE(a_frame_past_a_limit_is_not_sent) {
    frame_builder<proto::Rejected> b;
    for (std::size_t i = 0; i <= limits::frame_tensors_max; ++i)
        b.attach(filled(data_type::uint8, {1}, 0));
    BOOST_TEST((wire::measure(*std::move(b).finish()).failure().code() == errc::exhausted));
}

BOOST_AUTO_TEST_CASE(a_pool_without_room_is_an_error) {
    memory_pool small{64};
    BOOST_TEST((wire::deserialize(bytes_of(example()), small).failure().code() == errc::exhausted));
}

// Reads every field; whatever a damaged message says, this ends in values or in a kj::Exception.
void read_everything(const frame& f) {
    try {
        (void)f.envelope().toString().flatten();
        if (f.body_type() == type_id_of<proto::Rejected>())
            (void)f.body<proto::Rejected>().toString().flatten();
        for (const tensor& t : f.tensors())
            BOOST_TEST_REQUIRE(t.bytes() <= t.storage()->capacity());
        (void)wire::serialize(f);
    } catch (const kj::Exception&) {
    }
}

BOOST_AUTO_TEST_CASE(damaged_frames_are_read_or_refused) {
    random_stream random{1};
    std::size_t read = 0;
    std::size_t refused_count = 0;
    for (int round = 0; round < 60000; ++round) {
        auto bytes = bytes_of(example(round % 3 == 0 ? 700 : 10));
        const std::size_t changes = 1 + random.below(4);
        for (std::size_t i = 0; i < changes; ++i) {
            const std::size_t at = random.below(bytes.size());
            switch (random.below(4)) {
            case 0:
                bytes[at] = static_cast<std::byte>(random.next());
                break;
            case 1:
                bytes[at] ^= static_cast<std::byte>(1u << random.below(8));
                break;
            case 2:
                bytes.resize(std::max<std::size_t>(at, 1));
                break;
            default: { // a whole word: lengths, offsets
                const std::uint64_t value =
                    random.below(2) == 0 ? random.next() : ~std::uint64_t{0} << random.below(64);
                std::memcpy(bytes.data() + at, &value, std::min(sizeof value, bytes.size() - at));
            }
            }
        }
        const auto f = wire::deserialize(bytes, pool());
        if (f.ok())
            read_everything(**f);
        (f.ok() ? read : refused_count) += 1;
    }
    BOOST_TEST(read > 1000u);
    BOOST_TEST(refused_count > 10000u);
}

BOOST_AUTO_TEST_SUITE_END()
