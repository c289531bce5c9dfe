// What every program that times all-reduce does, so that they do the same: which sizes, how often, with which numbers.
//
// One call is checked; the numbers are zeros from then on, so that the sums of sums stay finite. What is timed comes back
// to back after a warm-up, in buffers that have been written before: each call sums what the one before has left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace all_reduce_task {

// From the words of the command line; the default ones without any.
inline std::vector<std::size_t> sizes(int count, char** words) {
    std::vector<std::size_t> bytes;
    for (int i = 0; i < count; ++i)
        bytes.push_back(std::max<std::size_t>(std::strtoull(words[i], nullptr, 10), sizeof(float)));
    if (bytes.empty())
        bytes = {1u << 10, 1u << 12, 1u << 14, 1u << 16, 1u << 18,
                 1u << 20, 1u << 22, 1u << 24, 1u << 26};
    return bytes;
}

// Timed calls; as many again divided by four warm up.
inline std::size_t calls(std::size_t bytes) {
    return std::clamp<std::size_t>((512u << 20) / bytes, 12, 1500);
}

inline float first_value(std::size_t rank) {
    return static_cast<float>(rank + 1);
}
inline float first_sum(std::size_t ranks) {
    return static_cast<float>(ranks * (ranks + 1)) / 2;
}

inline void check(const float* sums, std::size_t elements, std::size_t ranks) {
    if (std::all_of(sums, sums + elements, [&](float s) { return s == first_sum(ranks); }))
        return;
    std::fprintf(stderr, "a wrong sum of %zu elements\n", elements);
    std::exit(1);
}

inline void print(std::size_t bytes, double seconds) {
    std::printf("{\"bytes\": %zu, \"us\": %.3f}\n", bytes,
                1e6 * seconds / static_cast<double>(calls(bytes)));
    std::fflush(stdout);
}

} // namespace all_reduce_task
