#include "actors/runtime/trace.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <type_traits>

#include "actors/runtime/well_known.hpp"

namespace troupe {

static_assert(std::is_trivially_copyable_v<trace_event>);
static_assert(std::has_unique_object_representations_v<trace_event>,
              "every byte is copied as part of a word");

trace_ring::trace_ring(std::size_t capacity)
    : mask_{std::bit_ceil(std::max<std::size_t>(capacity, 2)) - 1}, slots_{make_slots(mask_ + 1)},
      labels_{"other"} {}

trace_ring::slot_memory trace_ring::make_slots(std::size_t count) {
    static_assert(alignof(slot) >= std::atomic_ref<std::uint64_t>::required_alignment);
    auto* const slots = static_cast<slot*>(std::calloc(count, sizeof(slot)));
    if (slots == nullptr)
        throw std::bad_alloc{};
    return slot_memory{slots};
}

void trace_ring::record(const trace_event& event) noexcept {
    std::array<std::uint64_t, words> content;
    std::memcpy(content.data(), &event, sizeof event);

    const std::uint64_t position = next_.fetch_add(1, std::memory_order_relaxed);
    slot& s = slots_[position & mask_];
    // A writer that was held up for a whole turn of the ring may still be at this slot. Then this event is not recorded;
    // readers find the slot without it and count it as lost.
    const std::atomic_ref state{s.state};
    std::uint64_t before = state.load(std::memory_order_relaxed);
    if ((before & 1) != 0 || before > 2 * position ||
        !state.compare_exchange_strong(before, 2 * position + 1, std::memory_order_relaxed))
        return;
    // Orders the odd state before the words: a reader that sees a new word sees that the slot is in motion.
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < words; ++i)
        std::atomic_ref{s.content[i]}.store(content[i], std::memory_order_relaxed);
    state.store(2 * position + 2, std::memory_order_release);
}

trace_batch trace_ring::read(std::uint64_t cursor, std::size_t max) const {
    trace_batch batch;
    const std::uint64_t end = next_.load(std::memory_order_acquire);
    const std::uint64_t oldest = end > capacity() ? end - capacity() : 0;
    batch.next = std::min(cursor, end);
    if (batch.next < oldest) {
        // Cursor 0 means "from the oldest event"; events that were gone before this reader came count as lost, too.
        batch.lost = oldest - batch.next;
        batch.next = oldest;
    }
    while (batch.next < end && batch.events.size() < max) {
        slot& s = slots_[batch.next & mask_];
        const std::atomic_ref state{s.state};
        const std::uint64_t complete = 2 * batch.next + 2;
        const std::uint64_t before = state.load(std::memory_order_acquire);
        if (before < complete && end - batch.next <= capacity() / 2)
            break; // it is being written; if it never completes, the ring's next half turn decides that it is lost
        std::array<std::uint64_t, words> content;
        for (std::size_t i = 0; i < words; ++i)
            content[i] = std::atomic_ref{s.content[i]}.load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (before == complete && state.load(std::memory_order_relaxed) == complete)
            std::memcpy(static_cast<void*>(&batch.events.emplace_back()), content.data(),
                        sizeof content);
        else
            ++batch.lost;
        ++batch.next;
    }
    return batch;
}

std::uint64_t trace_ring::recorded() const noexcept {
    return next_.load(std::memory_order_acquire);
}

std::uint64_t trace_ring::label(const std::string& text) {
    const std::lock_guard guard{names_lock_};
    const auto found = std::find(labels_.begin(), labels_.end(), text);
    if (found != labels_.end())
        return static_cast<std::uint64_t>(found - labels_.begin());
    if (labels_.size() >= labels_max)
        return 0;
    labels_.push_back(text);
    return labels_.size() - 1;
}

std::vector<std::string> trace_ring::labels() const {
    const std::lock_guard guard{names_lock_};
    return labels_;
}

void trace_ring::name_actor(actor_number number, const std::string& name) {
    const std::lock_guard guard{names_lock_};
    actors_.insert_or_assign(number, name);
    if (actors_.size() > actors_max) // numbers rise, and those of well-known actors stay
        actors_.erase(actors_.lower_bound(well_known::first_free));
}

std::map<actor_number, std::string> trace_ring::actor_names() const {
    const std::lock_guard guard{names_lock_};
    return actors_;
}

} // namespace troupe
