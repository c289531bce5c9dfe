// Vectors of numbers by name, in what a part saves.
//
//     state_writer write{memory};
//     return std::move(write("b", b_)("step", std::array{step_})).finish();
//     ...
//     const auto b = read_state<double>(saved, "b");
//
// Threads: values. Errors: errc::exhausted where the pool has no room; errc::protocol for names or types that are not there.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "actors/scheduled/program.hpp"
#include "schemas/base/error.hpp"

namespace troupe::scheduled {

template <class Number>
result<void> append_state(memory_pool& memory, std::string name, std::span<const Number> numbers,
                          saved_part& to) {
    auto made = numbers_of(memory, numbers);
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
    result<saved_part> finish() && {
        if (!failure_)
            return failure_.failure();
        return std::move(part_);
    }

  private:
    memory_pool& memory_;
    saved_part part_;
    result<void> failure_;
};

// A view of the numbers of this name; errc::protocol if there are none of this type.
template <class Number>
result<std::span<const Number>> read_state(const saved_part& saved, std::string_view name) {
    for (std::size_t i = 0; i < saved.names.size() && i < saved.tensors.size(); ++i)
        if (saved.names[i] == name)
            return read<Number>(saved.tensors, i, name);
    return error{errc::protocol, std::string{name} + ": not in the saved state"};
}

} // namespace troupe::scheduled
