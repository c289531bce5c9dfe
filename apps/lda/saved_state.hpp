// Vectors of numbers by name, in what a part saves; topics as bytes, two for each, the lower one first.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

// Appends one after the other, until one fails.
class state_writer {
  public:
    explicit state_writer(memory_pool& memory) : memory_{memory} {}

    template <class Numbers>
    state_writer& operator()(std::string name, const Numbers& numbers) {
        if (!failure_)
            return *this;
        auto made = scheduled::numbers_of(
            memory_, std::span<const std::ranges::range_value_t<Numbers>>{numbers});
        if (made) {
            part_.names.push_back(std::move(name));
            part_.tensors.push_back(std::move(*made));
        } else {
            failure_ = made.failure();
        }
        return *this;
    }
    state_writer& topics(std::string name, std::span<const std::uint16_t> topics) {
        std::vector<std::uint8_t> bytes;
        bytes.reserve(2 * topics.size());
        for (const std::uint16_t topic : topics) {
            bytes.push_back(static_cast<std::uint8_t>(topic & 0xff));
            bytes.push_back(static_cast<std::uint8_t>(topic >> 8));
        }
        return (*this)(std::move(name), bytes);
    }
    result<scheduled::saved_part> finish() && {
        if (!failure_)
            return failure_.failure();
        return std::move(part_);
    }

  private:
    memory_pool& memory_;
    scheduled::saved_part part_;
    result<void> failure_;
};

// A view of the numbers of this name; errc::protocol if there are none of this type.
template <class Number>
result<std::span<const Number>> read_state(const scheduled::saved_part& saved,
                                           std::string_view name) {
    for (std::size_t i = 0; i < saved.names.size() && i < saved.tensors.size(); ++i)
        if (saved.names[i] == name)
            return scheduled::read<Number>(saved.tensors, i, name);
    return error{errc::protocol, std::string{name} + ": not in the saved state"};
}

inline result<std::vector<std::uint16_t>> read_topics(const scheduled::saved_part& saved,
                                                      std::string_view name) {
    const auto bytes = read_state<std::uint8_t>(saved, name);
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
