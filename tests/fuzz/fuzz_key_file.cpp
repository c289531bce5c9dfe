// Fuzz target: arbitrary bytes as a file with a cluster's key.
#include "schemas/base/limits.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "transport/handshake/key_file.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const auto key = read_key_file(file.with(in));
    if (!key) {
        check_refusal(key.failure());
        return false;
    }
    TROUPE_CHECK(key->size() >= limits::key_bytes_min && key->size() <= limits::key_bytes_max,
                 "a key is neither short nor long");
    return true;
}

std::vector<std::string> sound_inputs() {
    return {"0123456789abcdef\n", std::string(64, 'a') + "\r\n",
            std::string(limits::key_bytes_max, 'k') + "\n"};
}

} // namespace troupe::fuzz
