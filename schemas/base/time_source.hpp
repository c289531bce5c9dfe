// Time, as an interface: what ships in real time is simulated in virtual time.
#pragma once

#include <chrono>
#include <cstdint>

namespace troupe {

using duration = std::chrono::nanoseconds;

// A point on a node's monotonic time line, in nanoseconds since an arbitrary start. Comparable on one node only.
struct time_point {
    std::int64_t ns = 0;

    friend constexpr auto operator<=>(time_point, time_point) noexcept = default;
    friend constexpr time_point operator+(time_point t, duration d) noexcept {
        return {t.ns + d.count()};
    }
    friend constexpr duration operator-(time_point a, time_point b) noexcept {
        return duration{a.ns - b.ns};
    }
};

// Thread-safe. `now` never goes backwards.
class time_source {
  public:
    virtual ~time_source() = default;
    virtual time_point now() const noexcept = 0;
};

// The machine's monotonic clock (CLOCK_MONOTONIC): comparable between processes of one machine.
class monotonic_time final : public time_source {
  public:
    time_point now() const noexcept override {
        return {std::chrono::duration_cast<duration>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count()};
    }
};

// Time that a test or the simulator moves by hand. One thread.
class virtual_time final : public time_source {
  public:
    time_point now() const noexcept override { return now_; }
    void advance_to(time_point t) noexcept {
        if (now_ < t)
            now_ = t;
    }

  private:
    time_point now_;
};

} // namespace troupe
