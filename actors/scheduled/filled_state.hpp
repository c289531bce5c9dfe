// Numbers of a saved part that are written where they stay: so many that a vector of them would be worth avoiding.
//
// Threads: values. Errors: errc::exhausted where the pool has no room.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "actors/scheduled/payload.hpp"
#include "actors/scheduled/program.hpp"

namespace troupe::scheduled {

// Appends `count` numbers of this name, which fill(span) writes.
template <class Number, class Fill>
result<void> append_filled(memory_pool& memory, std::string name, std::size_t count, Fill fill,
                           saved_part& to) {
    auto made = tensor::allocate(memory, number_type<Number>::value, {count});
    if (!made)
        return made.failure();
    fill(made->template mutable_values<Number>());
    to.names.push_back(std::move(name));
    to.tensors.push_back(std::move(*made));
    return {};
}

} // namespace troupe::scheduled
