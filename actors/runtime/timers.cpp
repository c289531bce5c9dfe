#include "actors/runtime/timers.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

namespace troupe {

struct thread_timers::state {
    using real_clock = std::chrono::steady_clock;
    // Ids put equal times in the order of setting.
    using key = std::pair<real_clock::time_point, timer_id>;

    void run() {
        std::unique_lock guard{lock};
        while (!ending) {
            if (queue.empty()) {
                changed.wait(guard);
            } else if (const auto due = queue.begin()->first.first; real_clock::now() < due) {
                changed.wait_until(guard, due);
            } else {
                auto callback = std::move(queue.begin()->second);
                times.erase(queue.begin()->first.second);
                queue.erase(queue.begin());
                guard.unlock();
                callback();
                callback = nullptr; // its captures are destroyed without the lock
                guard.lock();
            }
        }
    }

    std::mutex lock;
    std::condition_variable changed;
    std::map<key, std::function<void()>> queue;
    std::unordered_map<timer_id, real_clock::time_point> times;
    timer_id last{0};
    bool ending = false;
    std::thread thread;
};

thread_timers::thread_timers() : state_{std::make_unique<state>()} {
    state_->thread = std::thread{[s = state_.get()] { s->run(); }};
}

thread_timers::~thread_timers() {
    {
        const std::lock_guard guard{state_->lock};
        state_->ending = true;
    }
    state_->changed.notify_one();
    state_->thread.join();
}

timer_id thread_timers::after(duration delay, std::function<void()> callback) {
    const auto due = state::real_clock::now() + delay;
    const std::lock_guard guard{state_->lock};
    const timer_id timer = state_->last = state_->last.next();
    const auto place = state_->queue.emplace(state::key{due, timer}, std::move(callback)).first;
    state_->times.emplace(timer, due);
    if (place == state_->queue.begin())
        state_->changed.notify_one();
    return timer;
}

bool thread_timers::cancel(timer_id timer) {
    std::function<void()> dropped; // destroyed without the lock
    const std::lock_guard guard{state_->lock};
    const auto found = state_->times.find(timer);
    if (found == state_->times.end())
        return false;
    const auto entry = state_->queue.find({found->second, timer});
    dropped = std::move(entry->second);
    state_->queue.erase(entry);
    state_->times.erase(found);
    return true;
}

} // namespace troupe
