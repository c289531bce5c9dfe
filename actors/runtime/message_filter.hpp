// Which messages an observer wants to see: conditions on type, receiver, minibatch and any field of the body.
//
// Threads: a filter is a value; matches() is const and touches only its arguments.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "actors/runtime/message_types.hpp"
#include "actors/runtime/trace.hpp"
#include "schemas/base/error.hpp"
#include "schemas/trace.capnp.h"

namespace troupe {

class message_filter {
  public:
    message_filter() = default; // matches everything

    // errc::usage where a type or a field of a given type does not exist, with the names there are.
    static result<message_filter> parse(proto::Filter::Reader from);

    // Type, receiver and minibatch only.
    bool matches(const trace_event& event, const std::string& receiver) const;
    // The body's fields only. False where the body cannot be read or has no such field.
    bool matches_fields(const frame& f) const;

  private:
    struct field {
        std::vector<std::string> path;
        std::string value;
    };

    std::uint64_t type_ = 0;
    std::string actor_;
    std::uint64_t minibatch_ = ~0ull;
    std::vector<field> fields_;
};

} // namespace troupe
