// Fuzz target: arbitrary bytes as a file with a cluster's key.
#include <algorithm>

#include "schemas/base/limits.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "transport/handshake/key_file.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const auto keys = read_key_file(file.with(in));
    if (!keys) {
        check_refusal(keys.failure());
        return false;
    }
    const auto& all = keys->all();
    TROUPE_CHECK(!all.empty() && all.size() <= cluster_keys::number_max, "there are some keys");
    for (const cluster_key& key : all) {
        TROUPE_CHECK(key.secret.size() >= limits::key_bytes_min &&
                         key.secret.size() <= limits::key_bytes_max,
                     "a key is neither short nor long");
        TROUPE_CHECK(key.role.has_value() || all.size() == 1, "a key for everybody is alone");
        TROUPE_CHECK(std::ranges::count(all, key.secret, &cluster_key::secret) == 1,
                     "a key is there once");
    }
    return true;
}

std::vector<std::string> sound_inputs() {
    return {"0123456789abcdef\n",
            "member 0123456789abcdef\nrun 123456789abcdef0\n\nobserve 23456789abcdef01\r\n",
            "observe 0123456789abcdef", std::string(64, 'a') + "\r\n",
            std::string(limits::key_bytes_max, 'k') + "\n"};
}

} // namespace troupe::fuzz
