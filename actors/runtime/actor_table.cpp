#include "actors/runtime/actor_table.hpp"

#include "actors/runtime/actor_names.hpp"
#include "actors/runtime/actor_shell.hpp"

namespace troupe {

actor_address actor_table::reserve(std::optional<actor_number> number) {
    const std::unique_lock guard{lock_};
    const actor_number mine = number ? *number : actor_number{next_number_++};
    TROUPE_CHECK(!living_.contains(mine), "a well-known number is given once");
    return {node_, mine};
}

bool actor_table::add(actor_number number, const caf::strong_actor_ptr& handle) {
    const std::unique_lock guard{lock_};
    TROUPE_CHECK(living_.emplace(number, handle).second, "an actor number is used once");
    return !stopping_;
}

void actor_table::remove(actor_number number) {
    caf::strong_actor_ptr last; // released without the lock
    const std::unique_lock guard{lock_};
    const auto found = living_.find(number);
    if (found == living_.end())
        return;
    last = std::move(found->second);
    living_.erase(found);
    if (living_.empty())
        empty_.notify_all();
}

caf::strong_actor_ptr actor_table::find(actor_number number) const {
    const std::shared_lock guard{lock_};
    const auto found = living_.find(number);
    return found == living_.end() ? caf::strong_actor_ptr{} : found->second;
}

std::optional<actor_address> actor_table::address_of(const std::string& name) const {
    const std::shared_lock guard{lock_};
    for (const auto& [number, handle] : living_)
        if (is_called(actor_shell::of(handle).name(), name))
            return actor_shell::of(handle).self();
    return std::nullopt;
}

std::vector<actor_status> actor_table::statuses() const {
    std::vector<actor_status> list;
    const std::shared_lock guard{lock_};
    for (const auto& [number, handle] : living_)
        list.push_back(actor_shell::of(handle).status());
    return list;
}

actor_table::outcome actor_table::deliver(const frame_ptr& f, actor_number to, std::int64_t now_ns,
                                          caf::execution_unit* host) const {
    const std::shared_lock guard{lock_};
    return put(f, to, now_ns, {}, host) ? outcome::delivered : outcome::absent;
}

actor_table::outcome actor_table::deliver_unless_closed(const frame_ptr& f, actor_number to,
                                                        const time_source& time, timer_id timer,
                                                        caf::execution_unit* host) const {
    const std::shared_lock guard{lock_};
    if (closed_)
        return outcome::closed;
    return put(f, to, time.now().ns, timer, host) ? outcome::delivered : outcome::absent;
}

bool actor_table::put(const frame_ptr& f, actor_number to, std::int64_t now_ns, timer_id timer,
                      caf::execution_unit* host) const {
    const auto found = living_.find(to);
    return found != living_.end() &&
           actor_shell::of(found->second).deliver(f, now_ns, timer, host) != send_status::gone;
}

std::optional<std::vector<caf::strong_actor_ptr>> actor_table::begin_to_stop() {
    const std::unique_lock guard{lock_};
    if (stopping_)
        return std::nullopt;
    stopping_ = true;
    std::vector<caf::strong_actor_ptr> to_end;
    for (const auto& [number, handle] : living_)
        to_end.push_back(handle);
    return to_end;
}

bool actor_table::is_empty() const {
    const std::shared_lock guard{lock_};
    return living_.empty();
}

void actor_table::wait_until_empty() {
    std::unique_lock guard{lock_};
    empty_.wait(guard, [this] { return living_.empty(); });
}

void actor_table::close() {
    const std::unique_lock guard{lock_};
    closed_ = true;
}

std::shared_lock<std::shared_mutex> actor_table::keep_open() const {
    std::shared_lock guard{lock_};
    if (closed_)
        guard.unlock();
    return guard;
}

} // namespace troupe
