// Private to actors/runtime: tells ThreadSanitizer in which order CAF lets things happen.
//
// CAF is used as it is installed, compiled without ThreadSanitizer. The tool therefore does not see how messages and turns
// go from thread to thread, and would report every handler as a race. The functions declare only what CAF guarantees: a
// message is put into a mailbox before its handler runs, the turns of one actor follow each other, and the actor's end
// comes after every use by a holder of a reference. Other data that threads share is still checked. In other builds the
// functions are empty.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace troupe {

// This thread's earlier actions happen before those that follow acquire_from_caf of the same place in another thread.
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

// A scope around one turn of an actor; it ends before CAF may give the next turn to another thread.
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
