// The context of operations on a GPU: a stream, memory in the stream's order, and what must live until the stream has come
// so far.
//
// Work is put into the stream and goes on after the call. Scratch memory may be let go of as soon as the kernels that use it
// are in the stream: whoever gets it next is behind them in the same stream. Host memory is not so: hold() keeps it.
//
// Threads: one at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/cuda/cudnn.hpp"
#include "kernels/cuda/products.hpp"
#include "kernels/tensor/tensor.hpp"

namespace troupe::cuda {

// Why an element is not what the operation can take: with its place in row-major order and its value.
using bad_element = std::function<error(std::size_t place, std::int32_t value)>;

// Kernels write here where they find a bad element: the first of them, ~0 for none (report_bad in elements.hpp).
using bad_element_slot = unsigned long long*;

class execution {
  public:
    // `memory` is the device's, `host` pinned. All must outlive it.
    execution(cudaStream_t stream, memory_pool& memory, memory_pool& host);
    ~execution();

    cudaStream_t stream() const noexcept { return stream_; } // where all work goes
    products& multiply() noexcept { return products_; }
    cudnn& by_cudnn() noexcept { return cudnn_; }

    // Memory of the device for what is in the stream while it is held.
    result<buffer_ref> scratch(std::size_t bytes) { return memory_.allocate(bytes); }

    // Keeps elements in other memory than the device's until what is in the stream now is done.
    void hold(const tensor& t) {
        if (&t.storage()->pool() != &memory_)
            now_.held.push_back(t.storage());
    }

    // A slot for kernels that may find a bad element; the work fails with what `why` says of it.
    result<bad_element_slot> look_out(bad_element why);

    // Reads what lies at `from` in the device's memory when the stream has come so far. Waits.
    template <class T>
    result<T> read(const T* from) {
        T value;
        auto done = read_bytes(&value, from, sizeof value);
        return done ? result<T>{value} : done.failure();
    }

    // Waits for all that is in the stream; errc::data for a bad element that was found.
    result<void> wait();

    // Takes what the work since the last call needs to live, and what it found, once the stream has come so far. For a
    // device, which waits on an event instead of here.
    class pending {
      public:
        pending() = default;
        result<void> outcome() const; // once the stream is there: a bad element

      private:
        friend class execution;
        std::vector<buffer_ref> held;
        std::vector<bad_element> looked_out;
        buffer_ref slots;   // of the device, one for each of the above
        buffer_ref on_host; // their copy
    };
    // With an error in `outcome` what was found may be missing.
    pending end_of_work(result<void>& outcome);

  private:
    result<void> read_bytes(void* to, const void* from, std::size_t bytes);

    const cudaStream_t stream_;
    memory_pool& memory_;
    memory_pool& host_;
    products products_;
    cudnn cudnn_;
    pending now_;
};

} // namespace troupe::cuda
