// What a fuzz target gives to whoever makes its inputs: driver.cpp, or libFuzzer by libfuzzer.cpp.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/error.hpp"
#include "schemas/base/printable.hpp"

namespace troupe::fuzz {

// --- in every fuzz_NAME.cpp

// Reads bytes from outside, and whatever follows from them; whether they are taken. Ends the process by TROUPE_CHECK, a
// signal or a sanitizer where the reader does not keep its word.
bool read(std::span<const std::byte> in);

// What the reader takes, of every kind that it knows, made by the writers that the tests have; inputs are made of these.
std::vector<std::string> sound_inputs();

// --- for all of them

// What is refused is refused with one line that a terminal can show.
inline void check_refusal(const error& why) {
    constexpr std::size_t bytes_max = 1u << 14;
    const std::string shown = printable(why.message(), bytes_max);
    if (shown.empty() || shown != why.message()) {
        std::fprintf(stderr, "a refusal of %zu bytes: %s\n", why.message().size(), shown.c_str());
        TROUPE_CHECK(false, "a refusal is a printable line");
    }
}

inline std::string text_of(std::span<const std::byte> in) {
    return {reinterpret_cast<const char*>(in.data()), in.size()};
}

} // namespace troupe::fuzz
