#include "transport/tcp/poll_set.hpp"

#include <sys/epoll.h>

#include <algorithm>

namespace troupe {

poll_set::poll_set() : poll_{epoll_create1(EPOLL_CLOEXEC)} {}

void poll_set::watch(int descriptor, std::uint64_t id, readiness what) {
    control(EPOLL_CTL_ADD, descriptor, id, what);
}

void poll_set::change(int descriptor, std::uint64_t id, readiness what) {
    control(EPOLL_CTL_MOD, descriptor, id, what);
}

void poll_set::control(int operation, int descriptor, std::uint64_t id, readiness what) {
    epoll_event e{};
    if (what == readiness::reading || what == readiness::reading_or_writing)
        e.events |= EPOLLIN;
    if (what == readiness::writing || what == readiness::reading_or_writing)
        e.events |= EPOLLOUT;
    e.data.u64 = id;
    TROUPE_CHECK(epoll_ctl(poll_.get(), operation, descriptor, &e) == 0,
                 "the descriptor is open and watched once");
}

void poll_set::forget(int descriptor) {
    TROUPE_CHECK(epoll_ctl(poll_.get(), EPOLL_CTL_DEL, descriptor, nullptr) == 0,
                 "a descriptor is watched until it goes");
}

std::span<const std::uint64_t> poll_set::wait(std::optional<duration> at_most) {
    std::array<epoll_event, std::tuple_size_v<decltype(ready_)>> events;
    timespec limit{};
    if (at_most)
        limit = {at_most->count() / 1'000'000'000, at_most->count() % 1'000'000'000};
    const int count = epoll_pwait2(poll_.get(), events.data(), static_cast<int>(events.size()),
                                   at_most ? &limit : nullptr, nullptr);
    const auto got = static_cast<std::size_t>(std::max(count, 0)); // a signal ends a wait
    for (std::size_t i = 0; i < got; ++i)
        ready_[i] = events[i].data.u64;
    return {ready_.data(), got};
}

} // namespace troupe
