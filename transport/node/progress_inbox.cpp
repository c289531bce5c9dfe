#include "transport/node/progress_inbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "transport/peer_state.hpp"

namespace troupe {

progress_inbox::progress_inbox() : wake_up_{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {}

void progress_inbox::run(command what) {
    {
        std::lock_guard guard{lock_};
        waiting_.commands.push_back(std::move(what));
    }
    look();
}

void progress_inbox::flush(const peer_ptr& peer) {
    if (!peer->is_dirty.exchange(true)) {
        std::lock_guard guard{lock_};
        waiting_.dirty.push_back(peer);
    }
    look();
}

void progress_inbox::ring() {
    const std::uint64_t one = 1;
    TROUPE_CHECK(write(wake_up_.get(), &one, sizeof one) == sizeof one,
                 "the counter of a wake-up has room");
}

void progress_inbox::clear_wake_up() {
    std::uint64_t wakes = 0;
    [[maybe_unused]] const ssize_t got = read(wake_up_.get(), &wakes, sizeof wakes);
}

progress_inbox::contents progress_inbox::take_all() {
    std::lock_guard guard{lock_};
    return std::exchange(waiting_, {});
}

} // namespace troupe
