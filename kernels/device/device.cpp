#include "kernels/device/device.hpp"

#include <future>
#include <memory>
#include <utility>

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

result<tensor> transferred(compute_context& context, const tensor& t, memory_pool& to) {
    auto made = tensor::allocate(to, t.type(), t.shape());
    if (!made && made.failure().code() == errc::exhausted && &to == context.host)
        return error{errc::exhausted,
                     "the host's memory for what leaves the device is too small: " +
                         made.failure().message() + "; give the node more by --memory-mb"};
    if (made)
        if (auto done = context.ops.run(transfer{t, *made}); !done)
            return done.failure();
    return made;
}

// A tensor without a buffer stands for none.
template <class Move>
result<void> each_of(std::span<tensor> all, const Move& moved) {
    for (tensor& t : all)
        if (t) {
            auto there = moved(t);
            if (!there)
                return there.failure();
            t = std::move(*there);
        }
    return {};
}

} // namespace

result<tensor> copied_to_device(compute_context& context, const tensor& t) {
    if (context.memory.kind() == memory_kind::host ||
        (t.storage() && &t.storage()->pool() == &context.memory))
        return t;
    return transferred(context, t, context.memory);
}

result<tensor> taken_out(compute_context& context, const tensor& t) {
    return t.is_host() ? t : transferred(context, t, *context.host);
}

result<void> copy_to_device(compute_context& context, std::span<tensor> all) {
    return each_of(all, [&](const tensor& t) { return copied_to_device(context, t); });
}

result<void> copy_to_host(compute_context& context, std::span<tensor> all) {
    return each_of(all, [&](const tensor& t) { return taken_out(context, t); });
}

void drain(device& d) {
    // Shared, as the device may still be leaving set_value when the waiter is gone.
    const auto done = std::make_shared<std::promise<void>>();
    d.submit({.work = [](compute_context&) -> result<void> { return {}; },
              .done = [done](const result<void>&, duration) { done->set_value(); },
              .priority = task_priority::last});
    done->get_future().wait();
}

} // namespace troupe
