// Private to actors/runtime: the contents of an actor's mailbox.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#include "actors/runtime/timers.hpp"
#include "transport/frame/frame.hpp"

namespace troupe {

struct delivery {
    frame_ptr f; // null: the actor's start
    std::int64_t enqueued_ns = 0;
    timer_id timer; // 0: not from a timer
};

} // namespace troupe

// Frames are never serialised by CAF: between nodes they travel by the endpoint.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::delivery)
