// Reports that an endpoint has yet to make to its listener, in order. They are made while locks are held or maps walked, and
// delivered between the rounds of the progress thread, so that a listener may call the endpoint.
//
// Threads: the progress thread (start() before it runs). Ownership: of the frames, until they are delivered.
#pragma once

#include <functional>
#include <vector>

#include "transport/endpoint.hpp"

namespace troupe {

class report_queue {
  public:
    using call = std::function<void(endpoint_listener&)>;

    bool has_listener() const noexcept { return listener_ != nullptr; }
    void start(endpoint_listener& listener) noexcept { listener_ = &listener; }

    void add_frame(node_id from, frame_ptr data) {
        reports_.push_back({from, std::move(data), nullptr});
    }
    void add(call what) { reports_.push_back({{}, nullptr, std::move(what)}); }

    // Both return false if there were none. What is added meanwhile waits for the next call.
    bool deliver();
    bool drop();

  private:
    struct report { // a frame, or a call
        node_id from;
        frame_ptr data;
        call what;
    };

    endpoint_listener* listener_ = nullptr;
    std::vector<report> reports_;
};

} // namespace troupe
