#include "kernels/cuda/execution.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "kernels/cuda/status.hpp"

namespace troupe::cuda {

namespace {

constexpr std::size_t slots_max = 4096; // operations of one piece of work that look out
constexpr unsigned long long nothing_found = ~0ull;

} // namespace

execution::execution(cudaStream_t stream, memory_pool& memory, memory_pool& host)
    : stream_{stream}, memory_{memory}, host_{host}, products_{memory} {}

execution::~execution() = default;

result<bad_element_slot> execution::look_out(bad_element why) {
    if (!now_.slots) {
        auto slots = memory_.allocate(slots_max * sizeof(nothing_found));
        if (!slots)
            return slots.failure();
        now_.slots = std::move(*slots);
        if (auto set = checked(cudaMemsetAsync(now_.slots->data(), 0xff,
                                               slots_max * sizeof(nothing_found), stream_));
            !set)
            return set.failure();
    }
    if (now_.looked_out.size() == slots_max)
        return error{errc::exhausted, "one piece of work looks for bad elements more than " +
                                          std::to_string(slots_max) + " times; use smaller stages"};
    now_.looked_out.push_back(std::move(why));
    return reinterpret_cast<bad_element_slot>(now_.slots->data()) + now_.looked_out.size() - 1;
}

result<void> execution::read_bytes(void* to, const void* from, std::size_t bytes) {
    auto there = host_.allocate(bytes);
    if (!there)
        return there.failure();
    if (auto asked =
            checked(cudaMemcpyAsync((*there)->data(), from, bytes, cudaMemcpyDefault, stream_));
        !asked)
        return asked;
    if (auto done = checked(cudaStreamSynchronize(stream_)); !done)
        return done;
    std::memcpy(to, (*there)->data(), bytes);
    return {};
}

result<void> execution::wait() {
    result<void> outcome;
    const pending last = end_of_work(outcome);
    if (auto done = checked(cudaStreamSynchronize(stream_)); !done)
        return done;
    return outcome ? last.outcome() : outcome;
}

execution::pending execution::end_of_work(result<void>& outcome) {
    pending ended = std::exchange(now_, {});
    if (ended.looked_out.empty())
        return ended;
    const std::size_t bytes = ended.looked_out.size() * sizeof(nothing_found);
    auto there = host_.allocate(bytes);
    result<void> copied = there ? checked(cudaMemcpyAsync((*there)->data(), ended.slots->data(),
                                                          bytes, cudaMemcpyDefault, stream_))
                                : there.failure();
    if (copied)
        ended.on_host = std::move(*there);
    else if (outcome)
        outcome = copied;
    return ended;
}

result<void> execution::pending::outcome() const {
    if (!on_host)
        return {};
    for (std::size_t i = 0; i < looked_out.size(); ++i) {
        unsigned long long found = 0;
        std::memcpy(&found, on_host->data() + i * sizeof found, sizeof found);
        if (found != nothing_found)
            return looked_out[i](found >> 32, static_cast<std::int32_t>(found & 0xffffffffu));
    }
    return {};
}

} // namespace troupe::cuda
