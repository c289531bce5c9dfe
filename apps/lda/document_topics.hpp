// How many tokens of each topic documents have: of each document the topics that it has, in no order, since there are few.
//
//     auto counts = document_topics::make(memory, sizes, 1000);  // tokens of each document; topics
//     counts->add(3, 17);
//     for (const topic_count& c : counts->of(3)) ...
//
// The order of a document's topics decides which topic a random number stands for, so it is part of what is saved.
//
// Memory of the pool: 8 bytes for each topic that a document can have, which are as many as it has tokens, or all topics.
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor/tensor.hpp"
#include "schemas/base/error.hpp"

namespace troupe::lda {

struct topic_count {
    std::uint32_t topic = 0;
    std::int32_t count = 0; // at least 1
};

class document_topics {
  public:
    // `sizes`: tokens of each document. None are counted yet.
    static result<document_topics> make(memory_pool& memory, std::span<const std::uint32_t> sizes,
                                        std::uint32_t topics);

    std::size_t documents() const noexcept { return places_.size(); }
    std::span<const topic_count> of(std::size_t document) const noexcept {
        const place& p = places_[document];
        return {counts_ + p.start, p.length};
    }
    // They bring what `of` reads nearer, the one after the other.
    void prefetch_place(std::size_t document) const noexcept {
        __builtin_prefetch(&places_[document]);
    }
    void prefetch(std::size_t document) const noexcept {
        const topic_count* const own = counts_ + places_[document].start;
        __builtin_prefetch(own, 1);
        __builtin_prefetch(own + 8, 1);
    }

    std::int32_t count(std::size_t document, std::uint32_t topic) const noexcept {
        for (const topic_count& c : of(document))
            if (c.topic == topic)
                return c.count;
        return 0;
    }
    // One more token. False, and nothing changes, if the document has no room for another topic, as all of its tokens are
    // counted.
    bool add(std::size_t document, std::uint32_t topic) noexcept {
        place& p = places_[document];
        topic_count* const own = counts_ + p.start;
        std::uint32_t i = 0;
        while (i < p.length && own[i].topic != topic)
            ++i;
        if (i == p.length) {
            if (p.length == p.room)
                return false;
            own[p.length++] = {topic, 0};
        }
        ++own[i].count;
        return true;
    }
    // One token that is counted has another topic than before. `at`: the place of the former one in of(document).
    void move(std::size_t document, std::size_t at, std::uint32_t to) noexcept {
        place& p = places_[document];
        topic_count* const own = counts_ + p.start;
        if (--own[at].count == 0)
            own[at] = own[--p.length];
        add(document, to);
    }

    // ---- as they are saved: how many topics each document has, and which ----
    std::vector<std::int32_t> lengths() const;
    std::vector<std::uint16_t> order() const;
    // Of newly made counts; to be followed by count_again for each token, and then is_complete tells whether they fit.
    result<void> load(std::span<const std::int32_t> lengths, std::span<const std::uint16_t> order,
                      std::uint32_t topics);
    // False if the document has no such topic.
    bool count_again(std::size_t document, std::uint32_t topic) noexcept;
    bool is_complete() const noexcept; // no count is 0

  private:
    struct place {
        std::uint64_t start = 0;
        std::uint32_t length = 0; // topics
        std::uint32_t room = 0;
    };

    std::vector<place> places_;
    tensor memory_; // of counts_
    topic_count* counts_ = nullptr;
};

} // namespace troupe::lda
