// Memory for tensors: buffers with a reference count, and the bounded pool that they come from and return to.
//
// A device computes in memory of its own pool, and the transport receives straight into it. The pool keeps returned buffers
// by size class (of 2 MiB or more, once eight of the class have been asked for) and gives them out again, so that a training
// run takes nothing from the system after its first steps. It never holds more than its bound: what is past it is an error.
//
// Threads: everything here is thread-safe, except that one buffer_ref object belongs to one thread at a time.
// Lifetime: a pool must outlive its buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "schemas/base/error.hpp"

namespace troupe {

class memory_pool;

// Where a pool takes its memory from. Called under the pool's lock, one call at a time.
class memory_source {
  public:
    virtual ~memory_source() = default;

    // So many bytes, a multiple of 64, at such an address; null where none are left.
    virtual std::byte* take(std::size_t bytes) = 0;
    virtual void give_back(std::byte* memory, std::size_t bytes) = 0;
};

// Who may read it: anybody, or only the work of the device that it belongs to.
enum class memory_kind : std::uint8_t { host, device };

// A block of memory, alive while a buffer_ref points at it. Not copied, not moved.
class buffer {
  public:
    buffer(memory_pool& pool, std::byte* data, std::size_t capacity) noexcept
        : pool_{pool}, data_{data}, capacity_{capacity} {}

    std::byte* data() const noexcept { return data_; }
    std::size_t capacity() const noexcept {
        return capacity_;
    } // bytes; at least what was asked for
    const memory_pool& pool() const noexcept { return pool_; }

  private:
    friend class buffer_ref;
    friend class memory_pool;

    memory_pool& pool_;
    std::byte* data_;
    std::size_t capacity_;
    std::atomic<std::uint32_t> holders_{0};
    buffer* next_free_ = nullptr; // guarded by the pool's lock
};

// Shared ownership of a buffer; with the last one the buffer returns to its pool.
class buffer_ref {
  public:
    buffer_ref() noexcept = default;
    explicit buffer_ref(buffer* b) noexcept : buffer_{b} { acquire(); }
    buffer_ref(const buffer_ref& other) noexcept : buffer_{other.buffer_} { acquire(); }
    buffer_ref(buffer_ref&& other) noexcept : buffer_{std::exchange(other.buffer_, nullptr)} {}
    buffer_ref& operator=(buffer_ref other) noexcept {
        std::swap(buffer_, other.buffer_);
        return *this;
    }
    ~buffer_ref() { release(); }

    explicit operator bool() const noexcept { return buffer_ != nullptr; }
    buffer* get() const noexcept { return buffer_; }
    buffer* operator->() const noexcept { return buffer_; }

    // True if nobody else holds the buffer, so that its holder may overwrite it. Acquire: what other holders did
    // before they let go has happened.
    bool unique() const noexcept {
        return buffer_ != nullptr && buffer_->holders_.load(std::memory_order_acquire) == 1;
    }

  private:
    void acquire() noexcept {
        if (buffer_ != nullptr)
            buffer_->holders_.fetch_add(1, std::memory_order_relaxed);
    }
    void release() noexcept;

    buffer* buffer_ = nullptr;
};

struct memory_pool_statistics {
    std::uint64_t bytes_in_use = 0;   // held by buffer_refs, in size classes
    std::uint64_t bytes_reserved = 0; // in use or kept for reuse; never above the bound
    std::uint64_t bytes_in_use_peak = 0;
    std::uint64_t allocations_total = 0; // buffers given out
    std::uint64_t system_allocations_total =
        0; // of these, how many needed new memory from the system
};

// A bounded pool of memory. Without a source it is the host's: a buffer begins at a multiple of 64 bytes, one of 2 MiB or
// more at a multiple of 2 MiB (a huge page); those from 64 KiB on are parts of huge pages (buffer_memory.hpp).
class memory_pool {
  public:
    explicit memory_pool(std::uint64_t bytes_max);
    memory_pool(std::uint64_t bytes_max, std::unique_ptr<memory_source> source, memory_kind kind);
    ~memory_pool();
    memory_pool(const memory_pool&) = delete;
    memory_pool& operator=(const memory_pool&) = delete;

    // A buffer of at least `bytes` (0 allowed) with unspecified contents. errc::exhausted past the bound, with the
    // bound and the use in the message.
    result<buffer_ref> allocate(std::size_t bytes);

    // Whether an empty pool could give such a buffer. Sizes are rounded up to classes, so that some sizes just below the
    // bound never fit.
    bool can_ever_hold(std::size_t bytes) const noexcept;

    memory_pool_statistics statistics() const;
    std::uint64_t bytes_max() const noexcept;
    memory_kind kind() const noexcept { return kind_; }

  private:
    friend class buffer_ref;
    void give_back(buffer* b) noexcept;

    struct state;
    const memory_kind kind_;
    std::unique_ptr<state> state_;
};

inline void buffer_ref::release() noexcept {
    // Release so that our writes happen before the next owner's, acquire so that the others' happened before ours.
    if (buffer_ != nullptr && buffer_->holders_.fetch_sub(1, std::memory_order_acq_rel) == 1)
        buffer_->pool_.give_back(buffer_);
}

} // namespace troupe
