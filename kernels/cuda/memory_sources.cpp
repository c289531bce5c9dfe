#include "kernels/cuda/memory_sources.hpp"

#include <new>
#include <unordered_set>

namespace troupe::cuda {

// Any thread may allocate or free: the device is named each time.
std::byte* stream_memory::take(std::size_t bytes) {
    void* memory = nullptr;
    if (cudaSetDevice(device_) != cudaSuccess ||
        cudaMallocAsync(&memory, bytes, stream_) != cudaSuccess) {
        cudaGetLastError(); // not for the next launch to find
        return nullptr;
    }
    return static_cast<std::byte*>(memory);
}

void stream_memory::give_back(std::byte* memory, std::size_t) {
    cudaSetDevice(device_);
    cudaFreeAsync(memory, stream_);
}

namespace {

// Where the GPU has failed or the system pins no more, ordinary memory does: it is copied from more slowly.
class pinned_source final : public memory_source {
  public:
    explicit pinned_source(int device) : device_{device} {}

    std::byte* take(std::size_t bytes) override {
        void* memory = nullptr;
        if (cudaSetDevice(device_) == cudaSuccess &&
            cudaHostAlloc(&memory, bytes, cudaHostAllocDefault) == cudaSuccess)
            return static_cast<std::byte*>(memory);
        cudaGetLastError();
        auto* const ordinary =
            static_cast<std::byte*>(::operator new(bytes, alignment, std::nothrow));
        if (ordinary != nullptr)
            ordinary_.insert(ordinary);
        return ordinary;
    }
    void give_back(std::byte* memory, std::size_t) override {
        if (ordinary_.erase(memory) > 0)
            return ::operator delete(memory, alignment);
        cudaSetDevice(device_);
        cudaFreeHost(memory);
    }

  private:
    static constexpr std::align_val_t alignment{4096};

    const int device_;
    std::unordered_set<std::byte*> ordinary_;
};

} // namespace

std::unique_ptr<memory_source> pinned_memory(int device) {
    return std::make_unique<pinned_source>(device);
}

} // namespace troupe::cuda
