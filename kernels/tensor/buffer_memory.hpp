// Where a memory pool takes the host's memory from. Private to memory.cpp.
//
// Buffers of a huge page or more begin at one and ask for them. Those from 64 KB on are cut out of regions of huge pages,
// one behind the other. So there are fewer faults when they are first written and fewer misses of the TLB, and where another
// process reads them (transport/ucx/README.md) the kernel looks one page up instead of sixteen and more. What goes back of a
// region is the system's as soon as it needs memory; its addresses go back with the last buffer of the region.
//
// Threads: one at a time. Errors: null where the system has no memory left.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/tensor/memory.hpp"

namespace troupe {

class buffer_memory final : public memory_source {
  public:
    buffer_memory() = default;
    ~buffer_memory() override; // all buffers have been given back
    buffer_memory(const buffer_memory&) = delete;
    buffer_memory& operator=(const buffer_memory&) = delete;

    std::byte* take(std::size_t bytes) override;
    void give_back(std::byte* memory, std::size_t bytes) override;

  private:
    struct region {
        std::byte* begin;
        std::size_t used = 0;    // bytes that have been cut off
        std::size_t buffers = 0; // of these, not given back
    };

    std::byte* cut(std::size_t bytes);

    std::vector<region> regions_; // the last one is cut
};

} // namespace troupe
