// Topics of tokens in what a worker saves: as bytes, two for each, the lower one first.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/scheduled/named_numbers.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

inline std::vector<std::uint8_t> bytes_of(std::span<const std::uint16_t> topics) {
    std::vector<std::uint8_t> bytes;
    bytes.reserve(2 * topics.size());
    for (const std::uint16_t topic : topics) {
        bytes.push_back(static_cast<std::uint8_t>(topic & 0xff));
        bytes.push_back(static_cast<std::uint8_t>(topic >> 8));
    }
    return bytes;
}

inline result<std::vector<std::uint16_t>> read_topics(const scheduled::saved_part& saved,
                                                      std::string_view name) {
    const auto bytes = scheduled::read_state<std::uint8_t>(saved, name);
    if (!bytes)
        return bytes.failure();
    if (bytes->size() % 2 != 0)
        return error{errc::protocol, std::string{name} + ": half a topic is saved"};
    std::vector<std::uint16_t> topics;
    topics.reserve(bytes->size() / 2);
    for (std::size_t i = 0; i < bytes->size(); i += 2)
        topics.push_back(static_cast<std::uint16_t>((*bytes)[i] | (*bytes)[i + 1] << 8));
    return topics;
}

} // namespace troupe::lda
