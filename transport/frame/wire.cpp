#include "transport/frame/wire.hpp"

#include <capnp/serialize.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "schemas/base/printable.hpp"

namespace troupe::wire {

static_assert(std::endian::native == std::endian::little,
              "the wire is little-endian and read in place");

namespace {

constexpr std::byte zeros[alignment]{};

// `what` may be a Cap'n Proto message that quotes received bytes.
error malformed(const std::string& what) {
    return {errc::protocol, "malformed frame: " + printable(what, limits::reason_bytes_max)};
}

template <class Integer>
void put(std::span<std::byte> out, std::size_t at, Integer value) {
    std::memcpy(out.data() + at, &value, sizeof value);
}

template <class Integer>
Integer get(std::span<const std::byte> in, std::size_t at) {
    Integer value;
    std::memcpy(&value, in.data() + at, sizeof value);
    return value;
}

std::size_t table_words(std::size_t segments) {
    return segments / 2 + 1;
}

} // namespace

// --- writer

result<header> measure(const frame& f) {
    const auto segments = f.segments();
    std::uint64_t words = table_words(segments.size());
    for (const auto& segment : segments)
        words += segment.size();
    std::uint64_t bytes = 0;
    for (const tensor& t : f.tensors())
        bytes = aligned(bytes) + t.bytes();
    if (words > limits::frame_words_max || f.tensors().size() > limits::frame_tensors_max ||
        bytes > limits::frame_bytes_max)
        return error{errc::exhausted, "a frame of " + std::to_string(words) + " words, " +
                                          std::to_string(f.tensors().size()) + " tensors and " +
                                          std::to_string(bytes) +
                                          " tensor bytes is too large to send"};
    header h;
    h.tensors = static_cast<std::uint16_t>(f.tensors().size());
    h.words = words;
    h.tensor_bytes = bytes;
    h.place = f.place();
    return h;
}

void write_header(const header& h, std::span<std::byte, header_bytes> out) {
    put(out, 0, magic);
    put(out, 4, version);
    put(out, 6, h.tensors);
    put(out, 8, h.words);
    put(out, 16, h.token);
    put(out, 32, h.sequence);
    put(out, 40, h.tensor_bytes);
    put(out, 48, h.place.actor.value());
    put(out, 56, h.place.number);
}

void write_words(const frame& f, std::span<std::byte> out) {
    const auto segments = f.segments();
    std::size_t at = table_words(segments.size()) * sizeof(capnp::word);
    std::memset(out.data(), 0, at);
    put(out, 0, static_cast<std::uint32_t>(segments.size() - 1));
    for (std::size_t i = 0; i < segments.size(); ++i) {
        put(out, 4 + 4 * i, static_cast<std::uint32_t>(segments[i].size()));
        const auto bytes = segments[i].asBytes();
        std::memcpy(out.data() + at, bytes.begin(), bytes.size());
        at += bytes.size();
    }
    TROUPE_CHECK(at == out.size(), "the message is as long as it was measured");
}

std::vector<std::span<const std::byte>> tensor_section(const frame& f) {
    std::vector<std::span<const std::byte>> pieces;
    pieces.reserve(f.tensors().size());
    std::uint64_t at = 0;
    for (const tensor& t : f.tensors()) {
        TROUPE_CHECK(t.is_host(), "what is sent lies in memory of the host");
        if (aligned(at) != at)
            pieces.emplace_back(zeros, aligned(at) - at);
        if (t.bytes() > 0)
            pieces.emplace_back(t.data(), t.bytes());
        at = aligned(at) + t.bytes();
    }
    return pieces;
}

result<std::vector<std::byte>> serialize(const frame& f, const header& identity) {
    const auto measured = measure(f);
    if (!measured)
        return measured.failure();
    header h = *measured;
    h.token = identity.token;
    h.sequence = identity.sequence;
    const std::size_t words_bytes = h.words * sizeof(capnp::word);
    std::size_t at = header_bytes + aligned(words_bytes);
    std::vector<std::byte> out(at + h.tensor_bytes);
    write_header(h, std::span{out}.first<header_bytes>());
    write_words(f, std::span{out}.subspan(header_bytes, words_bytes));
    for (const auto piece : tensor_section(f)) {
        std::memcpy(out.data() + at, piece.data(), piece.size());
        at += piece.size();
    }
    return out;
}

// --- reader

result<header> read_header(std::span<const std::byte> in) {
    if (in.size() < header_bytes)
        return malformed("shorter than a header");
    if (get<std::uint32_t>(in, 0) != magic)
        return malformed("not a frame");
    if (const auto v = get<std::uint16_t>(in, 4); v != version)
        return malformed("version " + std::to_string(v) + ", this build reads " +
                         std::to_string(version));
    header h;
    h.tensors = get<std::uint16_t>(in, 6);
    h.words = get<std::uint64_t>(in, 8);
    h.token = get<connection_token>(in, 16);
    h.sequence = get<std::uint64_t>(in, 32);
    h.tensor_bytes = get<std::uint64_t>(in, 40);
    h.place = {actor_number{get<std::uint64_t>(in, 48)}, get<std::uint64_t>(in, 56)};
    if (h.words == 0 || h.words > limits::frame_words_max)
        return malformed(std::to_string(h.words) + " words");
    if (h.tensors > limits::frame_tensors_max)
        return malformed(std::to_string(h.tensors) + " tensors");
    if (h.tensor_bytes > limits::frame_bytes_max || (h.tensors == 0 && h.tensor_bytes != 0))
        return malformed(std::to_string(h.tensor_bytes) + " tensor bytes");
    return h;
}

namespace {

constexpr capnp::ReaderOptions reader_options{traversal_words_max, nesting_max};

kj::ArrayPtr<const capnp::word> as_words(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const capnp::word*>(bytes.data()), bytes.size() / sizeof(capnp::word)};
}

// A frame from outside. Its message is stored in the object if it is small, else in its own memory or in the received
// buffer.
class received_frame final : public frame {
  public:
    explicit received_frame(parts& received)
        : buffer_{received.words_in_buffer ? received.buffer : buffer_ref{}}, message_{
                                                                                  keep(received),
                                                                                  reader_options} {}
    ~received_frame() noexcept override = default;

    kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments() const override {
        return segments_;
    }

    // Checks the message. May throw kj::Exception.
    result<void> admit(const header& h, const parts& received);

  private:
    kj::ArrayPtr<const capnp::word> keep(const parts& received);
    result<void> admit_segments();
    result<void> admit_tensors(const header& h, const parts& received);

    // So many that the object is one of up to 1,032 bytes, of which glibc's allocator has some at hand for each thread.
    static constexpr std::size_t inline_words = 68;
    capnp::word inline_[inline_words];
    kj::Array<capnp::word> own_;
    buffer_ref buffer_;
    kj::ArrayPtr<const capnp::word> words_;
    capnp::FlatArrayMessageReader message_;
    kj::ArrayPtr<const capnp::word> first_segment_;
    kj::Array<kj::ArrayPtr<const capnp::word>> more_segments_;
    kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments_;
};

kj::ArrayPtr<const capnp::word> received_frame::keep(const parts& received) {
    words_ = as_words(received.words);
    if (received.words_in_buffer)
        return words_;
    capnp::word* target = inline_;
    if (words_.size() > inline_words) {
        own_ = kj::heapArray<capnp::word>(words_.size());
        target = own_.begin();
    }
    std::memcpy(static_cast<void*>(target), received.words.data(), received.words.size());
    return words_ = {target, words_.size()};
}

result<void> received_frame::admit_segments() {
    const auto table = std::as_bytes(std::span{words_.begin(), words_.size()});
    const std::size_t count = get<std::uint32_t>(table, 0) + std::size_t{1};
    // Cap'n Proto's reader counts in 32 bits: for no segments its count wraps to the largest number, and it reads on.
    if (table_words(count) > words_.size())
        return malformed(std::to_string(count) + " segments");
    // The reader has checked the rest of the table.
    if (message_.getEnd() != words_.end())
        return malformed("the message is shorter than its words");
    const capnp::word* at = words_.begin() + table_words(count);
    if (count == 1) {
        first_segment_ = {at, words_.end()};
        segments_ = {&first_segment_, 1};
        return {};
    }
    more_segments_ = kj::heapArray<kj::ArrayPtr<const capnp::word>>(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t words = get<std::uint32_t>(table, 4 + 4 * i);
        more_segments_[i] = {at, words};
        at += words;
    }
    segments_ = more_segments_;
    return {};
}

// Type, shape and size of one tensor, checked against each other.
struct described_tensor {
    data_type type;
    tensor_shape shape;
    std::uint64_t bytes;
};

result<described_tensor> read_descriptor(proto::TensorDescriptor::Reader descriptor) {
    const auto type = from_proto(descriptor.getType());
    if (!type)
        return type.failure().in("malformed frame");
    if (descriptor.getCodec() != proto::Codec::NONE)
        return malformed("unknown tensor codec");
    const auto dimensions = descriptor.getShape();
    if (dimensions.size() > limits::tensor_rank_max)
        return malformed("a tensor of rank " + std::to_string(dimensions.size()));
    std::array<std::size_t, limits::tensor_rank_max> sizes{};
    std::uint64_t bytes = size_of(*type);
    bool is_empty = false;
    for (unsigned axis = 0; axis < dimensions.size(); ++axis) {
        sizes[axis] = dimensions[axis];
        is_empty |= sizes[axis] == 0;
        // Bounded even next to a zero, so that no partial product of the dimensions overflows later.
        const std::uint64_t factor = std::max<std::uint64_t>(sizes[axis], 1);
        if (factor > limits::frame_bytes_max / bytes)
            return malformed("a tensor of too many elements");
        bytes *= factor;
    }
    bytes = is_empty ? 0 : bytes;
    if (descriptor.getBytes() != bytes)
        return malformed("a tensor of " + std::to_string(descriptor.getBytes()) +
                         " bytes whose shape says " + std::to_string(bytes));
    return described_tensor{*type, tensor_shape{std::span{sizes.data(), dimensions.size()}}, bytes};
}

result<void> received_frame::admit_tensors(const header& h, const parts& received) {
    const auto descriptors = root_.getTensors();
    if (descriptors.size() != h.tensors)
        return malformed(std::to_string(descriptors.size()) + " descriptors for " +
                         std::to_string(h.tensors) + " tensors");
    tensors_.reserve(descriptors.size());
    std::uint64_t at = 0;
    for (const auto descriptor : descriptors) {
        auto t = read_descriptor(descriptor);
        if (!t)
            return t.failure();
        at = aligned(at);
        if (t->bytes > h.tensor_bytes || at > h.tensor_bytes - t->bytes)
            return malformed("more tensors than bytes");
        if ((received.tensors_at + at) % size_of(t->type) != 0) // in a place of another type
            return malformed("a tensor where numbers of its type do not lie");
        tensors_.emplace_back(t->type, t->shape, received.buffer, received.tensors_at + at);
        at += t->bytes;
    }
    if (at != h.tensor_bytes)
        return malformed("more bytes than tensors");
    return {};
}

result<void> received_frame::admit(const header& h, const parts& received) {
    if (const auto ok = admit_segments(); !ok)
        return ok;
    root_ = message_.getRoot<proto::Frame>();
    if (const auto v = root_.getEnvelope().getVersion(); v != 1)
        return malformed("envelope of version " + std::to_string(v) + ", this build reads 1");
    body_type_ = root_.getBodyType();
    if (const auto ok = check_place(h.place, *this); !ok)
        return ok;
    return admit_tensors(h, received);
}

} // namespace

result<void> check_place(place_name name, const frame& f) {
    if (name && name.actor != f.to().actor)
        return malformed("the place of another actor than the one that it is for");
    return {};
}

result<frame_ptr> read_frame(const header& h, parts received) {
    if (received.words.size() != h.words * sizeof(capnp::word))
        return malformed("not as many words as announced");
    if (h.tensors > 0) {
        TROUPE_CHECK(received.buffer && received.tensors_at % sizeof(float) == 0 &&
                         received.tensors_at + h.tensor_bytes <= received.buffer->capacity(),
                     "the receiver provides room for the tensors that the header announces");
    }
    try {
        auto f = std::make_shared<received_frame>(received);
        if (const auto ok = f->admit(h, received); !ok)
            return ok.failure();
        return frame_ptr{std::move(f)};
    } catch (const kj::Exception& e) {
        return malformed(e.getDescription().cStr());
    }
}

result<frame_ptr> deserialize(std::span<const std::byte> in, memory_pool& pool) {
    const auto h = read_header(in);
    if (!h)
        return h.failure();
    const std::size_t words_bytes = h->words * sizeof(capnp::word);
    const std::size_t tensors_at = header_bytes + aligned(words_bytes);
    if (in.size() != tensors_at + h->tensor_bytes)
        return malformed("not as long as its header says");
    parts received{.words = in.subspan(header_bytes, words_bytes)};
    if (h->tensors > 0) {
        auto buffer = pool.allocate(h->tensor_bytes);
        if (!buffer)
            return buffer.failure();
        received.buffer = std::move(*buffer);
        std::memcpy(received.buffer->data(), in.data() + tensors_at, h->tensor_bytes);
    }
    return read_frame(*h, std::move(received));
}

} // namespace troupe::wire
