#include "kernels/cuda/cuda_device.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/memory_sources.hpp"
#include "kernels/cuda/status.hpp"
#include "kernels/device/task_queue.hpp"

namespace troupe {

namespace {

constexpr int compute_major_min = 8; // what meson.build compiles for
constexpr std::size_t ahead_max = 4; // pieces of work in the stream that are not done

// A piece of work that is in the stream.
struct piece_in_stream {
    device_task task;
    cuda::execution::pending needs;
    result<void> outcome; // of putting it in
    cudaEvent_t end = nullptr;
    time_point begun;
};

// The pieces of work of a device, in order: tasks that wait until there is room in the stream, and pieces in the stream
// whose end the listener has not heard of.
//
// Threads: anybody puts tasks; the submitter takes them and hands the pieces over; the listener takes these.
class pieces_of_work {
  public:
    void put(device_task task) {
        {
            std::lock_guard guard{lock_};
            TROUPE_CHECK(!stopping_, "nobody submits to a device that is being destroyed");
            tasks_.push(std::move(task));
        }
        changed_.notify_all();
    }
    // Nobody puts tasks any more: the two threads end when they have done those that are there.
    void stop() {
        {
            std::lock_guard guard{lock_};
            stopping_ = true;
        }
        changed_.notify_all();
    }

    // ---- the submitter's ----

    // Waits for a task and for room in the stream; none: there will be no more.
    std::optional<device_task> next_task() {
        std::unique_lock guard{lock_};
        changed_.wait(guard, [this] {
            return (stopping_ && tasks_.empty()) || (!tasks_.empty() && ahead_ < ahead_max);
        });
        if (tasks_.empty()) {
            all_in_ = true;
            changed_.notify_all();
            return std::nullopt;
        }
        ++ahead_;
        return tasks_.pop();
    }
    void hand_over(piece_in_stream piece) {
        {
            std::lock_guard guard{lock_};
            in_stream_.push_back(std::move(piece));
        }
        changed_.notify_all();
    }

    // ---- the listener's ----

    // Waits for a piece; none: there will be no more.
    std::optional<piece_in_stream> next_piece() {
        std::unique_lock guard{lock_};
        changed_.wait(guard, [this] { return all_in_ || !in_stream_.empty(); });
        if (in_stream_.empty())
            return std::nullopt;
        piece_in_stream next = std::move(in_stream_.front());
        in_stream_.pop_front();
        return next;
    }
    void piece_is_done() {
        {
            std::lock_guard guard{lock_};
            --ahead_;
        }
        changed_.notify_all();
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    task_queue tasks_;                      // guarded by lock_, as all that follows
    std::deque<piece_in_stream> in_stream_; // not yet heard of
    std::size_t ahead_ = 0;                 // put in and not done
    bool stopping_ = false;
    bool all_in_ = false;
};

// The failure by which a device is lost: the first one stays. Threads: any.
class device_loss {
  public:
    std::optional<error> why() const {
        std::lock_guard guard{lock_};
        return why_;
    }
    error set(error why) {
        std::lock_guard guard{lock_};
        if (!why_)
            why_ = std::move(why);
        return *why_;
    }

  private:
    mutable std::mutex lock_;
    std::optional<error> why_;
};

class cuda_device final : public device {
  public:
    cuda_device(const cuda_device_options& options, const time_source& time, cudaStream_t stream,
                std::unique_ptr<cuda::stream_memory> source)
        : index_{static_cast<int>(options.index)}, name_{"cuda:" + std::to_string(options.index)},
          time_{time}, stream_{stream}, memory_{options.memory_bytes_max, std::move(source),
                                                memory_kind::device},
          host_{options.host_bytes_max, cuda::pinned_memory(index_), memory_kind::host},
          run_{stream, memory_, host_}, ops_{run_},
          submitter_{[this] { put_in(); }}, listener_{[this] { listen(); }} {}

    ~cuda_device() override {
        pieces_.stop();
        submitter_.join();
        listener_.join();
    }

    void submit(device_task task) override { pieces_.put(std::move(task)); }
    std::optional<error> lost() const override { return loss_.why(); }
    memory_pool& memory() noexcept override { return memory_; }
    const std::string& name() const noexcept override { return name_; }

  private:
    void put_in() {
        cudaSetDevice(index_);
        compute_context context{ops_, memory_, precision::float32, &host_};
        while (auto task = pieces_.next_task()) {
            piece_in_stream next{.task = std::move(*task)};
            begin(next, context);
            pieces_.hand_over(std::move(next));
        }
    }

    void begin(piece_in_stream& next, compute_context& context) {
        next.begun = time_.now();
        if (const auto why = lost())
            next.outcome = *why;
        else
            next.outcome = next.task.work(context);
        next.needs = run_.end_of_work(next.outcome);
        cudaError_t status =
            cudaEventCreateWithFlags(&next.end, cudaEventBlockingSync | cudaEventDisableTiming);
        if (status == cudaSuccess)
            status = cudaEventRecord(next.end, stream_);
        if (status != cudaSuccess)
            next.outcome = cuda::failed(status);
    }

    void listen() {
        cudaSetDevice(index_);
        while (auto next = pieces_.next_piece()) {
            end(*next);
            pieces_.piece_is_done();
        }
    }

    void end(piece_in_stream& done) {
        const cudaError_t status =
            done.end == nullptr ? cudaSuccess : cudaEventSynchronize(done.end);
        if (done.end != nullptr)
            cudaEventDestroy(done.end);
        // A fault of the GPU explains the rest, and a bad element what came of it.
        if (status != cudaSuccess)
            done.outcome = cuda::failed(status);
        else if (auto found = done.needs.outcome(); !found)
            done.outcome = found;
        if (!done.outcome && done.outcome.failure().code() == errc::lost)
            done.outcome = loss_.set(done.outcome.failure().in(name_ + " has failed"));
        // The GPU does one piece after the other: this one began when it was put in or the last one ended.
        const time_point now = time_.now();
        const duration busy = now - std::max(done.begun, last_end_);
        last_end_ = now;
        // A listener that hears of its end may count on what it held being free.
        done.needs = {};
        done.task.work = nullptr;
        done.task.done(std::move(done.outcome), busy);
    }

    struct owned_stream {
        cudaStream_t stream;
        ~owned_stream() {
            cudaStreamSynchronize(stream);
            cudaStreamDestroy(stream);
        }
    };

    const int index_;
    const std::string name_;
    const time_source& time_;
    const cudaStream_t stream_;
    const owned_stream owner_{stream_}; // before what gives memory back in its order
    memory_pool memory_;
    memory_pool host_;
    cuda::execution run_; // of the submitter alone, as ops_
    cuda_operations ops_;
    time_point last_end_{}; // of the listener alone

    pieces_of_work pieces_;
    device_loss loss_;

    std::thread submitter_, listener_; // last: they use all of the above
};

} // namespace

result<std::unique_ptr<device>> make_cuda_device(const cuda_device_options& options,
                                                 const time_source& time) {
    int devices = 0;
    if (auto counted = cuda::checked(cudaGetDeviceCount(&devices)); !counted)
        return counted.failure();
    if (options.index >= static_cast<unsigned>(devices))
        return error{errc::usage, "this machine has no GPU " + std::to_string(options.index) +
                                      "; it has " + std::to_string(devices)};
    cudaDeviceProp is{};
    if (auto asked = cuda::checked(cudaGetDeviceProperties(&is, static_cast<int>(options.index)));
        !asked)
        return asked.failure();
    if (is.major < compute_major_min)
        return error{errc::usage, std::string{"the GPU is too old: "} + is.name +
                                      " has compute capability " + std::to_string(is.major) + "." +
                                      std::to_string(is.minor) + ", and this build needs " +
                                      std::to_string(compute_major_min) + ".0"};
    cudaStream_t stream = nullptr;
    if (auto chosen = cuda::checked(cudaSetDevice(static_cast<int>(options.index))); !chosen)
        return chosen.failure();
    // A thread that waits for the GPU sleeps. Refused where the device is in use already, with flags of its own.
    cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
    cudaGetLastError();
    if (auto made = cuda::checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); !made)
        return made.failure();
    cuda_device_options bounded = options;
    if (bounded.memory_bytes_max == 0) {
        std::size_t free = 0, total = 0;
        if (auto asked = cuda::checked(cudaMemGetInfo(&free, &total)); !asked)
            return asked.failure();
        bounded.memory_bytes_max = free / 10 * 9;
    }
    return std::unique_ptr<device>{std::make_unique<cuda_device>(
        bounded, time, stream,
        std::make_unique<cuda::stream_memory>(static_cast<int>(options.index), stream))};
}

} // namespace troupe
