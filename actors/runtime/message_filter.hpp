// The filter for messages that an observer wants to see: conditions on type, receiver, sender, run, piece of work and
// fields of the body.
//
// Threads: a filter is a value; matches() is const and touches only its arguments.
#pragma once

#include <string>
#include <vector>

#include "actors/runtime/field_condition.hpp"
#include "actors/runtime/message_types.hpp"
#include "actors/runtime/trace.hpp"
#include "schemas/base/error.hpp"
#include "schemas/trace.capnp.h"

namespace troupe {

class message_filter {
  public:
    message_filter() = default; // matches everything

    // errc::usage if no message can match, as a type, field or value does not exist; the error lists the names that do.
    static result<message_filter> parse(proto::Filter::Reader from, const message_catalog& known);

    // Checks type, receiver, sender, run and piece of work only.
    bool matches(const trace_event& event, const std::string& receiver) const;
    // Checks the body's fields only. Returns false if the body cannot be read or has no such field.
    bool matches_fields(const frame& f, const message_catalog& known) const;

  private:
    std::uint64_t type_ = 0;
    std::string actor_;
    std::uint64_t work_ = none;          // any
    std::uint64_t run_ = 0;              // any
    std::vector<actor_address> senders_; // none: anybody
    std::vector<field_condition> fields_;
};

} // namespace troupe
