// Private to actors/runtime: tells ThreadSanitizer in which order CAF lets things happen.
//
// CAF is used as it is installed, compiled without ThreadSanitizer, which so does not see how messages and turns go from
// thread to thread, and would call every handler a race. Said here and no more than CAF promises: who puts a message into
// a mailbox comes before the handler that gets it, the turns of one actor come one after the other, and its end comes
// after whatever anybody who held a reference did with it. What our own code shares beside that is still checked. In
// other builds these are empty.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace troupe {

// What this thread did before comes before what follows acquire_from_caf of the same place, there.
inline void release_to_caf([[maybe_unused]] const void* place) noexcept {
#if defined(__SANITIZE_THREAD__)
    __tsan_release(const_cast<void*>(place));
#endif
}

inline void acquire_from_caf([[maybe_unused]] const void* place) noexcept {
#if defined(__SANITIZE_THREAD__)
    __tsan_acquire(const_cast<void*>(place));
#endif
}

// Around what an actor does in one of its turns; ends before CAF may give the next turn to another thread.
class caf_turn {
  public:
    explicit caf_turn(const void* actor) noexcept : actor_{actor} { acquire_from_caf(actor_); }
    ~caf_turn() { release_to_caf(actor_); }
    caf_turn(const caf_turn&) = delete;
    caf_turn& operator=(const caf_turn&) = delete;

  private:
    const void* actor_;
};

} // namespace troupe
