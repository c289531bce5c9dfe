// A device computes: work is submitted in order and its completion is called back.
//
// A CPU device is one thread, a CUDA device a GPU with streams; a simulated device runs the work at once and completes it
// after a modelled time. Actors submit work and turn the completion into a message; they never wait.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "kernels/ops/precision.hpp"
#include "kernels/tensor/tensor.hpp"
#include "schemas/base/time_source.hpp"

namespace troupe {

class operations; // the table of operations of one back end; kernels/ops/ops.hpp

// The context that a piece of work computes with. Valid during the work only.
struct compute_context {
    operations& ops;
    memory_pool& memory;
    precision products = precision::float32; // of layers: a stage_program sets its model's
    memory_pool* host = nullptr; // for what leaves a device that has a memory of its own; else null

    // For what the host writes, to be brought in.
    memory_pool& host_memory() const noexcept { return host != nullptr ? *host : memory; }
};

// The same elements where the device computes: itself if they are there already, or if the device computes in host memory.
// What arrives from others comes in at the beginning of the work that it is for.
result<tensor> copied_to_device(compute_context& context, const tensor& t);
// The same elements in host memory: itself if it is there. What goes to others is taken out at the end of the work that
// made it; it can be read once that work is done.
result<tensor> taken_out(compute_context& context, const tensor& t);
// Both for many, in place.
result<void> copy_to_device(compute_context& context, std::span<tensor> all);
result<void> copy_to_host(compute_context& context, std::span<tensor> all);

// Work that fails returns an error; it reaches the completion.
using device_work = std::function<result<void>(compute_context&)>;

// Called once per work item, in the order in which they are worked on, on a thread of the device: it must only hand the
// news on.
using device_completion = std::function<void(result<void>, duration busy)>;

// A device with several actors' work may do this first (kernels/device/task_queue.hpp): what lets go of memory and is waited
// for by others, a backward pass, before what only asks for more.
enum class task_priority : std::uint8_t { last, usual, soon };

struct device_task {
    device_work work;
    device_completion done;
    double cost_hint =
        0; // floating-point operations of the work; a simulated device derives its time from it
    std::uint64_t owner =
        0; // tasks of one owner are worked on in the order in which they were submitted
    task_priority priority = task_priority::usual;
};

// `submit` is thread-safe and never blocks. Tasks are worked on in the order of submission, on a device that several stages
// share by their priority. Destruction finishes what was submitted.
class device {
  public:
    virtual ~device() = default;

    virtual void submit(device_task task) = 0;

    // The time of work of this cost_hint where time is modelled, and so cannot be measured; nothing on a real device.
    virtual std::optional<duration> modelled_time(double) const { return std::nullopt; }

    // Why it can do nothing more, if it cannot: all that is submitted fails.
    virtual std::optional<error> lost() const { return std::nullopt; }

    virtual memory_pool& memory() noexcept = 0;
    virtual const std::string& name() const noexcept = 0; // "cpu:0"
};

// Waits until all that was submitted before is done. For owners that take devices down: what one still works on may hold
// memory of another, so drain all before any goes. Not for a thread of a device, nor for simulated ones.
void drain(device& d);

} // namespace troupe
