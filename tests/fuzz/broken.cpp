// A target that does not keep its word, for driver_test.py.
#include <cstring>

#include "tests/fuzz/target.hpp"

namespace troupe::fuzz {

namespace {

int depth_of(volatile char* above) {
    volatile char here[4096];
    here[0] = above[0];
    return here[0] == '?' ? 0 : depth_of(here) + 1;
}

} // namespace

bool read(std::span<const std::byte> in) {
    const std::string text = text_of(in);
    char first = 's';
    if (text == "recursion")
        depth_of(&first);
    if (text == "memory")
        std::memset(std::vector<char>(std::size_t{1} << 28).data(), 1, std::size_t{1} << 28);
    for (volatile bool spins = text == "time"; spins;) {
    }
    if (text == "refusal")
        check_refusal({errc::data, "red\x1b[31m"});
    TROUPE_CHECK(text.find('0') == std::string::npos, "no input has a 0");
    return text == "sound";
}

std::vector<std::string> sound_inputs() {
    return {"sound"};
}

} // namespace troupe::fuzz
