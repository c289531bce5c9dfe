#include "kernels/device/device.hpp"

#include <future>
#include <memory>

namespace troupe {

void drain(device& d) {
    // Shared, as the device may still be leaving set_value when the waiter is gone.
    const auto done = std::make_shared<std::promise<void>>();
    d.submit({.work = [](compute_context&) -> result<void> { return {}; },
              .done = [done](const result<void>&, duration) { done->set_value(); }});
    done->get_future().wait();
}

} // namespace troupe
