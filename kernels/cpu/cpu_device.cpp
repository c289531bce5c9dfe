#include "kernels/cpu/cpu_device.hpp"

#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "kernels/cpu/cpu_operations.hpp"

namespace troupe {

namespace {

class cpu_device final : public device {
  public:
    cpu_device(const cpu_device_options& options, const time_source& time,
               std::unique_ptr<memory_source> source)
        : name_{"cpu:" + std::to_string(options.index)}, time_{time},
          memory_{options.memory_bytes_max, std::move(source), memory_kind::host},
          ops_{make_cpu_operations(memory_)}, worker_{[this] { run(); }} {}

    ~cpu_device() override {
        {
            std::lock_guard guard{lock_};
            stopping_ = true;
        }
        wake_.notify_one();
        worker_.join();
    }

    void submit(device_task task) override {
        {
            std::lock_guard guard{lock_};
            TROUPE_CHECK(!stopping_, "nobody submits to a device that is being destroyed");
            tasks_.push_back(std::move(task));
        }
        wake_.notify_one();
    }

    memory_pool& memory() noexcept override { return memory_; }
    const std::string& name() const noexcept override { return name_; }

    result<void> pin(unsigned core) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        if (core < CPU_SETSIZE)
            CPU_SET(core, &cores);
        if (const int failed =
                pthread_setaffinity_np(worker_.native_handle(), sizeof cores, &cores);
            failed != 0)
            return error{errc::usage, name_ + " cannot run on core " + std::to_string(core) + ": " +
                                          std::strerror(failed) +
                                          "; see `taskset -p $$` for the cores of this process"};
        return {};
    }

  private:
    void run() {
        compute_context context{*ops_, memory_};
        std::unique_lock guard{lock_};
        for (;;) {
            wake_.wait(guard, [this] { return stopping_ || !tasks_.empty(); });
            if (tasks_.empty())
                return;
            {
                device_task task = std::move(tasks_.front());
                tasks_.pop_front();
                guard.unlock();
                const time_point start = time_.now();
                result<void> outcome = task.work(context);
                const duration busy = time_.now() - start;
                // The work lets go of its tensors before anybody hears that it is done: who reuses
                // them may count on it.
                task.work = nullptr;
                task.done(std::move(outcome), busy);
            }
            guard.lock();
        }
    }

    const std::string name_;
    const time_source& time_;
    memory_pool memory_;
    std::unique_ptr<operations> ops_; // used by its thread only

    std::mutex lock_;
    std::condition_variable wake_;
    std::deque<device_task> tasks_; // guarded by lock_
    bool stopping_ = false;         // guarded by lock_

    std::thread worker_; // last: it uses all of the above
};

} // namespace

result<std::unique_ptr<device>> make_cpu_device(const cpu_device_options& options,
                                                const time_source& time,
                                                std::unique_ptr<memory_source> source) {
    auto made = std::make_unique<cpu_device>(options, time, std::move(source));
    if (options.core)
        if (auto pinned = made->pin(*options.core); !pinned)
            return pinned.failure();
    return std::unique_ptr<device>{std::move(made)};
}

} // namespace troupe
