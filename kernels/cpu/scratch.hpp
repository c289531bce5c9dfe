// Memory for what an operation computes on the way.
#pragma once

#include "kernels/tensor/memory.hpp"

namespace troupe::cpu {

// Thrown where memory runs out; holds the pool's error.
struct out_of_memory {
    error why;
};

// Memory of the pool, for as long as it lives; none for 0 bytes.
class scratch {
  public:
    scratch(memory_pool& pool, std::size_t bytes) {
        if (bytes == 0)
            return;
        auto memory = pool.allocate(bytes);
        if (!memory)
            throw out_of_memory{memory.failure()};
        memory_ = std::move(*memory);
    }
    float* floats() const noexcept {
        return memory_ ? reinterpret_cast<float*>(memory_->data()) : nullptr;
    }

  private:
    buffer_ref memory_;
};

} // namespace troupe::cpu
