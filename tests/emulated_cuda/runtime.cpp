// Streams, events and memory of the emulated GPU.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/emulated_cuda/cuda_runtime.h"

namespace emulated {

namespace {
thread_local int current_device = 0;
} // namespace

// Does what was put into it in order, on a thread of its own.
class stream {
  public:
    const int device = current_device;

    stream() : worker_{[this] { run(); }} {}
    ~stream() {
        {
            std::lock_guard guard{lock_};
            stopping_ = true;
        }
        wake_.notify_all();
        worker_.join();
    }

    void submit(std::function<void()> work) {
        {
            std::lock_guard guard{lock_};
            work_.push_back(std::move(work));
        }
        wake_.notify_all();
    }

    void wait() {
        std::unique_lock guard{lock_};
        wake_.wait(guard, [this] { return work_.empty() && !busy_; });
    }

  private:
    void run() {
        std::unique_lock guard{lock_};
        for (;;) {
            wake_.wait(guard, [this] { return stopping_ || !work_.empty(); });
            if (work_.empty())
                return;
            const auto work = std::move(work_.front());
            work_.pop_front();
            busy_ = true;
            guard.unlock();
            work();
            guard.lock();
            busy_ = false;
            wake_.notify_all();
        }
    }

    std::mutex lock_;
    std::condition_variable wake_;
    std::deque<std::function<void()>> work_; // guarded by lock_, as the next two
    bool busy_ = false, stopping_ = false;
    std::thread worker_; // last: it uses all of the above
};

// Shared with the streams that are still to reach it.
class event {
  public:
    const int device = current_device;
    struct moment {
        std::mutex lock;
        std::condition_variable reached;
        bool is_reached = true;
    };
    std::shared_ptr<moment> last = std::make_shared<moment>();
};

namespace {

constexpr int devices = 2;
constexpr std::size_t memory_bytes = 1ull << 30; // of all devices
std::atomic<std::size_t> bytes_in_use{0};
std::atomic<bool> events_fail{false};

// In front of what is handed out: its size.
constexpr std::size_t header_bytes = 256;

cudaError_t take(void** memory, std::size_t bytes) {
    if (bytes_in_use.fetch_add(bytes) + bytes > memory_bytes) {
        bytes_in_use -= bytes;
        return cudaErrorMemoryAllocation;
    }
    auto* begin =
        static_cast<std::byte*>(::operator new (bytes + header_bytes, std::align_val_t{256}));
    std::memcpy(begin, &bytes, sizeof bytes);
    std::memset(begin + header_bytes, 0xff, bytes); // NaN
    *memory = begin + header_bytes;
    return cudaSuccess;
}

void give_back(void* memory) {
    if (memory == nullptr)
        return;
    auto* begin = static_cast<std::byte*>(memory) - header_bytes;
    std::size_t bytes = 0;
    std::memcpy(&bytes, begin, sizeof bytes);
    bytes_in_use -= bytes;
    ::operator delete (begin, std::align_val_t{256});
}

} // namespace

void fail_events(bool fail) {
    events_fail = fail;
}

cudaError_t submit(cudaStream_t stream, std::function<void()> work) {
    if (stream == nullptr)
        return cudaErrorInvalidValue;
    if (stream->device != current_device)
        return cudaErrorInvalidResourceHandle;
    stream->submit(std::move(work));
    return cudaSuccess;
}

bool fits(const cudaLaunchConfig_t& config) {
    const auto product = [](dim3 d) { return std::size_t{d.x} * d.y * d.z; };
    return product(config.blockDim) >= 1 && product(config.blockDim) <= block_threads_max &&
           config.gridDim.x >= 1 && config.gridDim.x <= 0x7fffffffu && config.gridDim.y >= 1 &&
           config.gridDim.y <= 65535 && config.gridDim.z >= 1 && config.gridDim.z <= 65535 &&
           config.dynamicSmemBytes <= shared_bytes_max;
}

} // namespace emulated

using namespace emulated;

cudaError_t cudaGetDeviceCount(int* count) {
    *count = devices;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device < 0 || device >= devices)
        return cudaErrorInvalidDevice;
    *properties = {"emulated", memory_bytes, 9, 0, 4};
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    if (device < 0 || device >= devices)
        return cudaErrorInvalidDevice;
    current_device = device;
    return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned) {
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *total = memory_bytes;
    *free = memory_bytes - bytes_in_use;
    return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t status) {
    switch (status) {
    case cudaSuccess:
        return "cudaSuccess";
    case cudaErrorMemoryAllocation:
        return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidValue:
        return "cudaErrorInvalidValue";
    case cudaErrorIllegalAddress:
        return "cudaErrorIllegalAddress";
    default:
        return "cudaErrorUnknown";
    }
}
const char* cudaGetErrorString(cudaError_t status) {
    return status == cudaErrorInvalidValue ? "invalid argument" : "emulated error";
}
cudaError_t cudaGetLastError() {
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned) {
    *made = new stream;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
    delete s;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    s->wait();
    return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned) {
    *made = new event;
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
    delete e;
    return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
    if (s->device != current_device || e->device != current_device)
        return cudaErrorInvalidResourceHandle;
    auto moment = std::make_shared<event::moment>();
    moment->is_reached = false;
    e->last = moment;
    s->submit([moment] {
        {
            std::lock_guard guard{moment->lock};
            moment->is_reached = true;
        }
        moment->reached.notify_all();
    });
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
    const auto moment = e->last;
    std::unique_lock guard{moment->lock};
    moment->reached.wait(guard, [&] { return moment->is_reached; });
    return events_fail ? cudaErrorIllegalAddress : cudaSuccess;
}

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t) {
    return take(memory, bytes);
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t s) {
    s->submit([memory] { give_back(memory); });
    return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
    *memory = ::operator new (bytes, std::align_val_t{4096});
    return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
    ::operator delete (memory, std::align_val_t{4096});
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t s) {
    return submit(s, [=] { std::memmove(to, from, bytes); });
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t s) {
    return submit(s, [=] { std::memset(memory, value, bytes); });
}
