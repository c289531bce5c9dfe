// A hash of numbers and texts, by which one content is known from another: 64 bits, the same on every little-endian machine.
// It is for data that changed without anybody's intent; whoever means to can find two contents with the same hash.
//
// Four lanes take 8 bytes each at a time: a product and a rotation, which no two values of a lane share. SplitMix64's
// function (schemas/base/random.hpp) mixes the lanes in the end.
//
// Threads: a value.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "schemas/base/random.hpp"

namespace troupe {

class content_hash {
  public:
    // Pieces count as such: "ab" and "c" are not "a" and "bc".
    template <class Number>
    void add(std::span<Number> numbers) noexcept {
        add_bytes(std::as_bytes(numbers));
    }
    void add(std::string_view text) noexcept { add(std::span{text}); }

    // The hash of all that has been added; more may follow.
    std::uint64_t value() const noexcept {
        std::uint64_t state = 0;
        for (const std::uint64_t lane : lanes_)
            state = lane ^ split_mix(state);
        return split_mix(state);
    }

  private:
    static constexpr std::size_t word_bytes = sizeof(std::uint64_t);

    void add_bytes(std::span<const std::byte> bytes) noexcept {
        take(0, bytes.size());
        auto lanes = lanes_; // in registers
        std::size_t at = 0;
        for (; at + sizeof lanes <= bytes.size(); at += sizeof lanes)
            for (std::size_t l = 0; l < lanes.size(); ++l)
                lanes[l] = next(lanes[l], word_of(&bytes[at + l * word_bytes], word_bytes));
        lanes_ = lanes;
        for (std::size_t l = 0; at < bytes.size(); at += word_bytes, ++l)
            take(l, word_of(&bytes[at], std::min(word_bytes, bytes.size() - at)));
    }

    static std::uint64_t word_of(const std::byte* bytes, std::size_t count) noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes, count);
        return word;
    }
    static std::uint64_t next(std::uint64_t lane, std::uint64_t word) noexcept {
        return std::rotl((lane ^ word) * 0x9e3779b97f4a7c15u, 29);
    }
    void take(std::size_t lane, std::uint64_t word) noexcept {
        lanes_[lane] = next(lanes_[lane], word);
    }

    std::array<std::uint64_t, 4> lanes_{1, 2, 3, 4};
};

} // namespace troupe
