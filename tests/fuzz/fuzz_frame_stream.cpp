// Fuzz target: bytes of a connection that carries frames, cut into pieces by the first byte of an input. The second byte
// says whether they are sealed.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/target.hpp"
#include "transport/tcp/record_cipher.hpp"
#include "transport/tcp/stream_receiver.hpp"

namespace troupe::fuzz {

namespace {

constexpr wire::connection_token token{std::byte{5}};
constexpr secret_key key{std::byte{9}};
const monotonic_time time_;

memory_pool& pool() {
    static memory_pool p{1 << 26};
    return p;
}

// Gives the bytes in pieces, and then nothing.
class given_bytes final : public byte_stream {
  public:
    given_bytes(std::span<const std::byte> all, std::size_t piece, bool is_sealed)
        : left_{all}, piece_{piece}, is_sealed_{is_sealed} {}

    bool is_empty() const { return left_.empty(); }

    result<std::size_t> write(std::span<const iovec>) override { return std::size_t{0}; }
    result<std::size_t> read(std::span<const iovec> places) override {
        return is_sealed_ ? read_record(places) : read_piece(places);
    }
    std::size_t read_bytes_min() const noexcept override {
        return is_sealed_ ? record_text_max : 1;
    }
    int descriptor() const noexcept override { return -1; }
    void shut_down() noexcept override {}

  private:
    result<std::size_t> read_piece(std::span<const iovec> places) {
        const std::size_t wanted = std::min(piece_, left_.size());
        std::size_t given = 0;
        for (const iovec& place : places) {
            const std::size_t now = std::min(place.iov_len, wanted - given);
            if (now > 0)
                std::memcpy(place.iov_base, left_.data() + given, now);
            given += now;
        }
        left_ = left_.subspan(given);
        return given;
    }

    result<std::size_t> read_record(std::span<const iovec> places) {
        if (left_.size() < record_head_bytes)
            return std::size_t{0};
        const auto text = record_cipher::text_bytes(left_.first<record_head_bytes>());
        if (!text)
            return text.failure();
        const std::size_t bytes = record_head_bytes + *text + record_tag_bytes;
        if (left_.size() < bytes)
            return std::size_t{0};
        std::vector<iovec> parts;
        for (std::size_t rest = *text; const iovec& place : places) {
            const std::size_t now = std::min(place.iov_len, rest);
            if (now > 0)
                parts.push_back({place.iov_base, now});
            rest -= now;
        }
        if (const auto opened = opening_.open(left_.first(bytes), parts); !opened)
            return opened.failure();
        left_ = left_.subspan(bytes);
        return *text;
    }

    std::span<const std::byte> left_;
    std::size_t piece_;
    bool is_sealed_;
    record_cipher opening_{cipher_direction::opening, key};
};

std::vector<std::byte> in_stream(const frame& f, std::uint64_t sequence) {
    wire::header h = wire::measure(f).value();
    h.token = token;
    h.sequence = sequence;
    std::vector<std::byte> out(wire::header_bytes + h.words * sizeof(capnp::word));
    wire::write_header(h, std::span{out}.first<wire::header_bytes>());
    wire::write_words(f, std::span{out}.subspan(wire::header_bytes));
    for (const auto piece : wire::tensor_section(f))
        out.insert(out.end(), piece.begin(), piece.end());
    return out;
}

} // namespace

// Sound are bytes that end with a whole frame.
bool read(std::span<const std::byte> in) {
    if (in.size() < 2)
        return false;
    const auto piece = static_cast<std::size_t>(in[0]) + 1;
    given_bytes bytes{in.subspan(2), piece * piece, in[1] != std::byte{0}};
    named_places places;
    stream_receiver receiver{{&pool(), &time_, std::chrono::seconds{1}, token}, places};
    std::vector<frame_ptr> frames;
    for (;;) {
        const auto got = receiver.receive(bytes, frames);
        if (!got) {
            check_refusal(got.failure());
            return false;
        }
        if (*got == 0)
            break;
    }
    for (const frame_ptr& f : frames)
        try {
            (void)f->root().toString().flatten();
        } catch (const kj::Exception&) {
        }
    return bytes.is_empty() && receiver.frames() == frames.size() && !frames.empty();
}

std::vector<std::string> sound_inputs() {
    std::vector<std::byte> plain;
    std::string sealed;
    record_cipher sealing{cipher_direction::sealing, key};
    for (std::uint64_t i = 0; i < 3; ++i) {
        frame_builder<proto::Rejected> b;
        b.body().setReason(std::string(std::size_t{10} << (4 * i), 'r'));
        for (const std::size_t size : {3u, 0u, 700u}) {
            tensor t = tensor::allocate(pool(), data_type::uint8, {size}).value();
            std::memset(t.mutable_data(), 1, t.bytes());
            b.attach(std::move(t));
        }
        auto bytes = in_stream(*std::move(b).finish(), i);
        plain.insert(plain.end(), bytes.begin(), bytes.end());
        std::vector<std::byte> record(record_bytes_max);
        const iovec text{bytes.data(), bytes.size()};
        record.resize(sealing.seal({&text, 1}, i == 2, record.data()));
        sealed += text_of(record);
    }
    std::vector<std::string> all{std::string{"\1\1", 2} + sealed};
    for (const char piece : {'\0', '\7', '\x7f'}) // of a byte, 64 bytes, 16 KB
        all.push_back(std::string{piece, '\0'} + text_of(plain));
    return all;
}

} // namespace troupe::fuzz
