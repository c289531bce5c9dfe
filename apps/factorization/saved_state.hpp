// Vectors of numbers by name, in what a part saves.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::factorization {

template <class Number>
result<void> append_state(memory_pool& memory, std::string name, std::span<const Number> numbers,
                          scheduled::saved_part& to) {
    auto made = scheduled::numbers_of(memory, numbers);
    if (!made)
        return made.failure();
    to.names.push_back(std::move(name));
    to.tensors.push_back(std::move(*made));
    return {};
}

// Appends one after the other, until one fails.
class state_writer {
  public:
    explicit state_writer(memory_pool& memory) : memory_{memory} {}

    template <class Numbers>
    state_writer& operator()(std::string name, const Numbers& numbers) {
        if (failure_.ok())
            failure_ =
                append_state(memory_, std::move(name),
                             std::span<const std::ranges::range_value_t<Numbers>>{numbers}, part_);
        return *this;
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

} // namespace troupe::factorization
