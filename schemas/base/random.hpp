// Random numbers with a documented, library-independent algorithm: the same seed gives the same numbers on every
// machine, compiler and back end.
//
// Source: SplitMix64 (Steele, Lea, Flood 2014) for seeding, xoshiro256** (Blackman, Vigna 2018) for the stream.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace troupe {

// One step of SplitMix64: advances `state` and returns the next value. Also a good 64-bit mixing function.
constexpr std::uint64_t split_mix(std::uint64_t& state) noexcept {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// A stream of random numbers. One thread at a time; copying forks an identical stream.
class random_stream {
  public:
    // Streams with different `seed` or `purpose` are independent; `purpose` names what the numbers are for
    // (an epoch, a layer), so that adding a consumer does not shift the others.
    constexpr explicit random_stream(std::uint64_t seed, std::uint64_t purpose = 0) noexcept {
        std::uint64_t state = seed;
        state = split_mix(state) ^ (purpose * 0xd1342543de82ef95u);
        for (auto& word : state_)
            word = split_mix(state);
    }

    constexpr std::uint64_t next() noexcept {
        const auto rotate = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
        const std::uint64_t value = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return value;
    }

    // Uniform in [0, bound); bound > 0. Unbiased (Lemire's multiply with rejection).
    constexpr std::uint64_t below(std::uint64_t bound) noexcept {
        const std::uint64_t threshold = (0 - bound) % bound;
        __extension__ using wide = unsigned __int128;
        for (;;) {
            const auto product = static_cast<wide>(next()) * bound;
            if (static_cast<std::uint64_t>(product) >= threshold)
                return static_cast<std::uint64_t>(product >> 64);
        }
    }

    // Uniform in [0, 1), with 53 random bits.
    constexpr double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    // Standard normal (Box-Muller, one value a call).
    double normal() noexcept {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
        return radius * std::cos(6.283185307179586476925 * uniform());
    }

  private:
    std::array<std::uint64_t, 4> state_{};
};

} // namespace troupe
