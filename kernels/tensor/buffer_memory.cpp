#include "kernels/tensor/buffer_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "schemas/base/check.hpp"

namespace troupe {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page_bytes = 2u << 20;
constexpr std::size_t region_bytes = 32u << 20; // of addresses: memory is what has been written
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t cut_bytes_min = huge_page_bytes; // each by itself, so that its end is watched
#else
constexpr std::size_t cut_bytes_min = 64u << 10;
#endif

bool is_cut(std::size_t bytes) noexcept {
    return bytes >= cut_bytes_min && bytes < huge_page_bytes;
}

std::align_val_t alignment_of(std::size_t bytes) noexcept {
    return std::align_val_t{bytes >= huge_page_bytes ? huge_page_bytes : alignment};
}

std::byte* take_from_system(std::size_t bytes) {
    void* const memory = ::operator new(bytes, alignment_of(bytes), std::nothrow);
    if (memory != nullptr && bytes >= huge_page_bytes)
        madvise(memory, bytes, MADV_HUGEPAGE); // a wish
    return static_cast<std::byte*>(memory);
}

void give_to_system(std::byte* memory, std::size_t bytes) {
    ::operator delete(memory, alignment_of(bytes));
}

// Gives the pages that lie wholly in it back to the system.
void drop_pages(std::byte* memory, std::size_t bytes) {
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t begin = (first + page - 1) / page * page;
    const std::uintptr_t end = (first + bytes) / page * page;
    if (begin < end)
        madvise(memory + (begin - first), end - begin, MADV_DONTNEED);
}

} // namespace

buffer_memory::~buffer_memory() {
    for (const region& r : regions_) {
        TROUPE_CHECK(r.buffers == 0, "all buffers have been given back");
        give_to_system(r.begin, region_bytes);
    }
}

std::byte* buffer_memory::take(std::size_t bytes) {
    TROUPE_CHECK(bytes % alignment == 0, "size classes are multiples of the alignment");
    return is_cut(bytes) ? cut(bytes) : take_from_system(bytes);
}

std::byte* buffer_memory::cut(std::size_t bytes) {
    if (regions_.empty() || region_bytes - regions_.back().used < bytes) {
        std::byte* const begin = take_from_system(region_bytes);
        if (begin == nullptr)
            return nullptr;
        regions_.push_back({begin});
    }
    region& r = regions_.back();
    ++r.buffers;
    return r.begin + std::exchange(r.used, r.used + bytes);
}

void buffer_memory::give_back(std::byte* memory, std::size_t bytes) {
    if (!is_cut(bytes))
        return give_to_system(memory, bytes);
    drop_pages(memory, bytes); // its addresses wait until all of the region are free
    const auto r = std::ranges::find_if(regions_, [&](const region& one) {
        return memory >= one.begin && memory < one.begin + region_bytes;
    });
    TROUPE_CHECK(r != regions_.end(), "the buffer was cut out of a region");
    if (--r->buffers > 0)
        return;
    give_to_system(r->begin, region_bytes); // what is left of it no longer lies in huge pages
    regions_.erase(r);
}

} // namespace troupe
