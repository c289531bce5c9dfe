// Random numbers by place: the words at a counter are a function of key and counter alone, so that any of them can be had
// without those before it, in any order, on any machine.
//
// Source: Philox 4x32-10 of Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3".
#pragma once

#include <cstdint>

namespace troupe {

struct philox_words {
    std::uint32_t word[4];
};

struct philox_key {
    std::uint32_t word[2];
};

// Static: it is also compiled once per instruction set (kernels/cpu/loops.cpp), and none may call another's.
static constexpr philox_words philox(philox_words counter, philox_key key) noexcept {
    auto [c0, c1, c2, c3] = counter.word;
    auto [k0, k1] = key.word;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t a = std::uint64_t{0xd2511f53} * c0;
        const std::uint64_t b = std::uint64_t{0xcd9e8d57} * c2;
        c0 = static_cast<std::uint32_t>(b >> 32) ^ c1 ^ k0;
        c1 = static_cast<std::uint32_t>(b);
        c2 = static_cast<std::uint32_t>(a >> 32) ^ c3 ^ k1;
        c3 = static_cast<std::uint32_t>(a);
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
    return {{c0, c1, c2, c3}};
}

} // namespace troupe
