#include "kernels/tensor/memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <string>

#include "kernels/tensor/buffer_memory.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace troupe {

namespace {

// Under AddressSanitizer a pool keeps nothing, and watches the end of every buffer that was asked for.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool keeps_buffers = false;
void watch_end(std::byte* memory, std::size_t bytes, std::size_t capacity) {
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
    ASAN_POISON_MEMORY_REGION(memory + bytes, capacity - bytes);
}
#else
constexpr bool keeps_buffers = true;
void watch_end(std::byte*, std::size_t, std::size_t) {}
#endif

// Size classes: four per power of two, so that rounding wastes less than a quarter.
constexpr std::size_t class_bytes(std::size_t bytes) noexcept {
    if (!keeps_buffers)
        return bytes / 64 * 64 + 64;
    if (bytes <= 256)
        return 256;
    const std::size_t step = std::bit_floor(bytes - 1) / 4;
    return (bytes + step - 1) / step * step;
}

constexpr std::size_t class_index(std::size_t bytes_of_class) noexcept {
    const std::size_t power = static_cast<std::size_t>(std::bit_width(bytes_of_class - 1));
    const std::size_t quarter = (bytes_of_class - 1) >> (power >= 3 ? power - 3 : 0) & 3;
    return power * 4 + quarter;
}

// Large buffers of a class are kept once so many of it have ever been asked for: what a run uses once or twice, such as what
// it is told before it begins, goes back to the system. Of another source, which may be slow, all are kept.
constexpr std::size_t large_bytes = 2u << 20;
constexpr std::uint32_t large_asked_ever_min = 8;

} // namespace

struct memory_pool::state {
    // `source` is null for the system's memory.
    state(std::uint64_t bytes_max, std::unique_ptr<memory_source> source)
        : bytes_max{bytes_max}, asked_ever_min{source ? 0 : large_asked_ever_min},
          system{source ? std::move(source) : std::make_unique<buffer_memory>()} {}

    // Frees kept buffers, largest classes first, until `bytes` fit under the bound. Lock held.
    void make_room(std::uint64_t bytes) {
        for (std::size_t c = free_lists.size();
             c-- > 0 && numbers.bytes_reserved + bytes > bytes_max;) {
            while (free_lists[c] != nullptr && numbers.bytes_reserved + bytes > bytes_max) {
                buffer* b = free_lists[c];
                free_lists[c] = b->next_free_;
                numbers.bytes_reserved -= b->capacity();
                destroy(b);
            }
        }
    }

    void destroy(buffer* b) {
        watch_end(b->data(), b->capacity(), b->capacity());
        system->give_back(b->data(), b->capacity());
        delete b;
    }

    const std::uint64_t bytes_max;
    const std::uint32_t asked_ever_min; // for large buffers to be kept
    mutable std::mutex lock;
    const std::unique_ptr<memory_source> system;
    std::array<buffer*, 260> free_lists{};
    std::array<std::uint32_t, 260> asked_ever{}; // for each class, up to large_asked_ever_min
    memory_pool_statistics numbers;
};

memory_pool::memory_pool(std::uint64_t bytes_max)
    : memory_pool{bytes_max, nullptr, memory_kind::host} {}

memory_pool::memory_pool(std::uint64_t bytes_max, std::unique_ptr<memory_source> source,
                         memory_kind kind)
    : kind_{kind}, state_{std::make_unique<state>(bytes_max, std::move(source))} {}

memory_pool::~memory_pool() {
    TROUPE_CHECK(state_->numbers.bytes_in_use == 0, "a memory pool outlives its buffers");
    for (buffer* b : state_->free_lists) {
        while (b != nullptr) {
            buffer* next = b->next_free_;
            state_->destroy(b);
            b = next;
        }
    }
}

std::uint64_t memory_pool::bytes_max() const noexcept {
    return state_->bytes_max;
}

memory_pool_statistics memory_pool::statistics() const {
    std::lock_guard guard{state_->lock};
    return state_->numbers;
}

bool memory_pool::can_ever_hold(std::size_t bytes) const noexcept {
    // Compared before rounding up, which could overflow.
    return bytes <= state_->bytes_max && class_bytes(bytes) <= state_->bytes_max;
}

result<buffer_ref> memory_pool::allocate(std::size_t bytes) {
    std::lock_guard guard{state_->lock};
    memory_pool_statistics& numbers = state_->numbers;
    const std::size_t capacity = can_ever_hold(bytes) ? class_bytes(bytes) : 0;
    if (capacity == 0 || numbers.bytes_in_use + capacity > state_->bytes_max)
        return error{errc::exhausted, "out of device memory: " + std::to_string(bytes) +
                                          " bytes wanted, " + std::to_string(numbers.bytes_in_use) +
                                          " of " + std::to_string(state_->bytes_max) + " in use"};
    std::uint32_t& asked_ever = state_->asked_ever[class_index(capacity)];
    asked_ever = std::min(asked_ever + 1, large_asked_ever_min);
    buffer*& head = state_->free_lists[class_index(capacity)];
    buffer* b = head;
    if (b != nullptr) {
        head = b->next_free_;
    } else {
        state_->make_room(capacity);
        std::byte* const memory = state_->system->take(capacity);
        if (memory == nullptr)
            return error{errc::exhausted,
                         "the system has no " + std::to_string(capacity) + " bytes of memory left"};
        b = new buffer{*this, memory, capacity};
        watch_end(memory, bytes, capacity);
        numbers.bytes_reserved += capacity;
        ++numbers.system_allocations_total;
    }
    ++numbers.allocations_total;
    numbers.bytes_in_use += capacity;
    numbers.bytes_in_use_peak = std::max(numbers.bytes_in_use_peak, numbers.bytes_in_use);
    return buffer_ref{b};
}

void memory_pool::give_back(buffer* b) noexcept {
    std::lock_guard guard{state_->lock};
    state_->numbers.bytes_in_use -= b->capacity();
    const std::size_t of_class = class_index(b->capacity());
    if (!keeps_buffers ||
        (b->capacity() >= large_bytes && state_->asked_ever[of_class] < state_->asked_ever_min)) {
        state_->numbers.bytes_reserved -= b->capacity();
        return state_->destroy(b);
    }
    buffer*& head = state_->free_lists[of_class];
    b->next_free_ = head;
    head = b;
}

} // namespace troupe
