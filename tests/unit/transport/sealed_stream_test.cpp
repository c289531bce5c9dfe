// Records of frames: sealed as another library seals them, opened only as the next ones of their sender; streams of them.
#include <boost/test/unit_test.hpp>

#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>

#include "transport/tcp/plain_stream.hpp"
#include "transport/tcp/sealed_stream.hpp"

using namespace troupe;

namespace {

using bytes = std::vector<std::byte>;

secret_key key_of(std::uint8_t seed) {
    secret_key key;
    std::ranges::fill(key, std::byte{seed});
    return key;
}

bytes some_bytes(std::size_t count, std::mt19937_64& random) {
    bytes out(count);
    std::ranges::generate(out, [&] { return static_cast<std::byte>(random()); });
    return out;
}

iovec piece_of(const bytes& b) {
    return {const_cast<std::byte*>(b.data()), b.size()};
}

bytes sealed(record_cipher& by, const bytes& text, bool begins_key = false) {
    bytes out(record_bytes_max);
    const iovec piece = piece_of(text);
    out.resize(by.seal({&piece, 1}, begins_key, out.data()));
    return out;
}

result<bytes> opened(record_cipher& by, const bytes& record) {
    const auto text = record_cipher::text_bytes(std::span{record}.first<record_head_bytes>());
    if (!text)
        return text.failure();
    if (record.size() != record_head_bytes + *text + record_tag_bytes)
        return error{errc::protocol, "not as long as it says"};
    bytes out(*text);
    const iovec place = piece_of(out);
    if (const auto done = by.open(record, {&place, 1}); !done)
        return done.failure();
    return out;
}

struct both_ends {
    std::unique_ptr<byte_stream> a;
    std::unique_ptr<byte_stream> b;
};

both_ends connected(bool is_sealed, const time_source& time,
                    const sealed_stream::key_lifetime& lifetime = {}) {
    int ends[2];
    BOOST_TEST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    file_descriptor first{ends[0]};
    file_descriptor second{ends[1]};
    if (!is_sealed)
        return {std::make_unique<plain_stream>(std::move(first)),
                std::make_unique<plain_stream>(std::move(second))};
    return {std::make_unique<sealed_stream>(
                std::move(first), sealed_stream::keys{key_of(1), key_of(2)}, time, lifetime),
            std::make_unique<sealed_stream>(
                std::move(second), sealed_stream::keys{key_of(2), key_of(1)}, time, lifetime)};
}

class set_time final : public time_source {
  public:
    time_point now() const noexcept override { return time; }
    time_point time{};
};

} // namespace

BOOST_AUTO_TEST_SUITE(sealed_streams)

BOOST_AUTO_TEST_CASE(a_record_is_what_another_library_makes_of_it) {
    if (sodium_init() < 0 || crypto_aead_aes256gcm_is_available() == 0) {
        std::cout << "skipped: libsodium has no AES on this processor" << std::endl;
        return;
    }
    std::mt19937_64 random{1};
    record_cipher sealing{cipher_direction::sealing, key_of(7)};
    for (std::uint64_t number = 0; number < 300; ++number) {
        const bytes text = some_bytes(1 + random() % 3000, random);
        const bytes record = sealed(sealing, text);
        unsigned char nonce[12]{};
        std::memcpy(nonce + 4, &number, 8);
        bytes expected(record_head_bytes + text.size() + record_tag_bytes);
        const auto length = static_cast<std::uint32_t>(text.size());
        std::memcpy(expected.data(), &length, 4);
        const secret_key key = key_of(7);
        const auto raw = [](const auto& b) {
            return reinterpret_cast<const unsigned char*>(b.data());
        };
        crypto_aead_aes256gcm_encrypt(
            reinterpret_cast<unsigned char*>(expected.data()) + record_head_bytes, nullptr,
            raw(text), text.size(), raw(expected), record_head_bytes, nullptr, nonce, raw(key));
        BOOST_TEST_REQUIRE((record == expected));
    }
}

BOOST_AUTO_TEST_CASE(a_record_is_opened_once_in_its_turn_and_unchanged) {
    std::mt19937_64 random{2};
    record_cipher sealing{cipher_direction::sealing, key_of(7)};
    std::vector<bytes> texts, records;
    for (int i = 0; i < 4; ++i) {
        texts.push_back(some_bytes(40, random));
        records.push_back(sealed(sealing, texts.back(), i == 2));
    }
    const auto opens = [&](const std::vector<bytes>& in_order, const secret_key& key) {
        record_cipher opening{cipher_direction::opening, key};
        std::size_t count = 0;
        for (const bytes& r : in_order) {
            const auto text = opened(opening, r);
            if (!text)
                break;
            BOOST_TEST((*text == texts[count]));
            ++count;
        }
        return count;
    };
    BOOST_TEST(opens(records, key_of(7)) == 4u);
    BOOST_TEST(opens(records, key_of(8)) == 0u);
    BOOST_TEST(opens({records[0], records[0]}, key_of(7)) == 1u);             // repeated
    BOOST_TEST(opens({records[0], records[2]}, key_of(7)) == 1u);             // one left out
    BOOST_TEST(opens({records[1], records[0]}, key_of(7)) == 0u);             // out of order
    BOOST_TEST(opens({records[0], records[1], records[3]}, key_of(7)) == 2u); // a key left out
    for (std::size_t at = 0; at < records[0].size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            bytes changed = records[0];
            changed[at] ^= static_cast<std::byte>(1 << bit);
            BOOST_TEST(opens({changed}, key_of(7)) == 0u);
        }
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_in_order_whatever_the_pieces) {
    const monotonic_time time;
    for (const bool is_sealed : {false, true})
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            std::mt19937_64 random{seed};
            const auto ends = connected(is_sealed, time, {.records = 1 + seed % 5});
            const bytes all = some_bytes(1u << 20, random);
            bytes got(all.size());
            std::size_t written = 0;
            std::size_t read = 0;
            while (read < all.size()) {
                std::vector<iovec> pieces;
                for (std::size_t at = written; at < all.size() && pieces.size() < 5;) {
                    const std::size_t size = std::min<std::size_t>(
                        1 + random() % (random() % 4 == 0 ? 300000 : 300), all.size() - at);
                    pieces.push_back({const_cast<std::byte*>(all.data()) + at, size});
                    at += size;
                }
                const auto taken = ends.a->write(pieces);
                BOOST_TEST_REQUIRE(taken.ok());
                written += *taken;
                // Places as a receiver has them: a few bytes that are wanted, and room behind them.
                const std::size_t first = std::min<std::size_t>(random() % 2000, all.size() - read);
                bytes behind(ends.b->read_bytes_min());
                const iovec places[2] = {{got.data() + read, first},
                                         {behind.data(), behind.size()}};
                const auto arrived =
                    ends.b->read(first > 0 ? std::span{places} : std::span{places}.subspan(1));
                BOOST_TEST_REQUIRE(arrived.ok());
                const std::size_t direct = std::min(*arrived, first);
                std::copy_n(behind.begin(), *arrived - direct,
                            got.begin() + static_cast<std::ptrdiff_t>(read + direct));
                read += *arrived;
            }
            BOOST_TEST((got == all));
            BOOST_TEST(!ends.a->holds_bytes());
        }
}

BOOST_AUTO_TEST_CASE(a_key_is_replaced_after_so_many_records_and_after_its_time) {
    // The highest bit of a record's head says that a new key begins.
    const auto keys_begun = [](const set_time& time, auto between) {
        int ends[2];
        BOOST_TEST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
        const file_descriptor reader{ends[1]};
        sealed_stream s{file_descriptor{ends[0]},
                        {key_of(1), key_of(2)},
                        time,
                        {.records = 1000, .time = std::chrono::hours{1}}};
        std::size_t begun = 0;
        const bytes text(10);
        for (int i = 0; i < 3000; ++i) {
            const iovec piece = piece_of(text);
            BOOST_TEST_REQUIRE(s.write({&piece, 1}).ok());
            bytes record(record_head_bytes + text.size() + record_tag_bytes);
            const iovec place = piece_of(record);
            BOOST_TEST_REQUIRE(receive_some(reader.get(), {&place, 1}).value() == record.size());
            begun += (record[3] & std::byte{0x80}) != std::byte{0} ? 1 : 0;
            between();
        }
        return begun;
    };
    set_time time;
    BOOST_TEST(keys_begun(time, [] {}) == 2u); // before records 1,000 and 2,000
    // An hour passes in 720 records; the clock is read with every 256th.
    BOOST_TEST(keys_begun(time, [&] { time.time = time.time + std::chrono::seconds{5}; }) == 3u);
}

BOOST_AUTO_TEST_CASE(streams_of_other_keys_and_foreign_bytes_are_not_read) {
    const monotonic_time time;
    int ends[2];
    BOOST_TEST_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    const file_descriptor foreign{ends[0]};
    sealed_stream s{file_descriptor{ends[1]}, {key_of(1), key_of(2)}, time, {}};
    const bytes garbage(100, std::byte{0x17});
    const iovec piece = piece_of(garbage);
    BOOST_TEST_REQUIRE(send_some(foreign.get(), {&piece, 1}).ok());
    bytes room(record_text_max);
    const iovec place = piece_of(room);
    const auto got = s.read({&place, 1});
    BOOST_TEST_REQUIRE(!got.ok());
    BOOST_TEST((got.failure().code() == errc::protocol));
}

BOOST_AUTO_TEST_SUITE_END()
