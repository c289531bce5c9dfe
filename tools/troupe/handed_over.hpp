// The handover of an actor's answer to the main thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "schemas/base/error.hpp"
#include "schemas/base/time_source.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

// A value that an actor's thread gives and the owner waits for.
template <class T>
class handed_over {
  public:
    void give(T value) {
        std::lock_guard guard{lock_};
        value_ = std::move(value);
        changed_.notify_all();
    }

    // Waits until the value is there or a stop signal comes.
    result<T> wait() {
        std::unique_lock guard{lock_};
        while (!changed_.wait_for(guard, poll_interval, [&] { return value_.has_value(); }))
            if (stop_signals() > 0)
                return error{errc::cancelled, "stopped"};
        return *std::exchange(value_, std::nullopt);
    }

  private:
    static constexpr duration poll_interval = std::chrono::milliseconds{50};

    std::mutex lock_;
    std::condition_variable changed_;
    std::optional<T> value_;
};

} // namespace troupe::cli
