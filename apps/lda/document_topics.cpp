#include "apps/lda/document_topics.hpp"

#include <algorithm>

namespace troupe::lda {

result<document_topics> document_topics::make(memory_pool& memory,
                                              std::span<const std::uint32_t> sizes,
                                              std::uint32_t topics) {
    document_topics made;
    made.places_.reserve(sizes.size());
    std::uint64_t start = 0;
    for (const std::uint32_t size : sizes) {
        const std::uint32_t room = std::min(size, topics);
        made.places_.push_back({start, 0, room});
        start += room;
    }
    auto counts = tensor::allocate(memory, data_type::uint8, {start * sizeof(topic_count)});
    if (!counts)
        return counts.failure();
    made.memory_ = std::move(*counts);
    made.counts_ = reinterpret_cast<topic_count*>(made.memory_.mutable_data());
    return made;
}

std::vector<std::int32_t> document_topics::lengths() const {
    std::vector<std::int32_t> all;
    for (const place& p : places_)
        all.push_back(static_cast<std::int32_t>(p.length));
    return all;
}

std::vector<std::uint16_t> document_topics::order() const {
    std::vector<std::uint16_t> all;
    for (std::size_t d = 0; d < places_.size(); ++d)
        for (const topic_count& c : of(d))
            all.push_back(static_cast<std::uint16_t>(c.topic));
    return all;
}

result<void> document_topics::load(std::span<const std::int32_t> lengths,
                                   std::span<const std::uint16_t> order, std::uint32_t topics) {
    const error bad{errc::protocol, "the saved topics of documents are of other documents"};
    if (lengths.size() != places_.size())
        return bad;
    std::size_t at = 0;
    for (std::size_t d = 0; d < places_.size(); ++d) {
        place& p = places_[d];
        const std::int32_t length = lengths[d];
        if (length < 0 || static_cast<std::uint32_t>(length) > p.room ||
            static_cast<std::size_t>(length) > order.size() - at)
            return bad;
        p.length = static_cast<std::uint32_t>(length);
        for (std::uint32_t i = 0; i < p.length; ++i) {
            const std::uint16_t topic = order[at++];
            if (topic >= topics)
                return bad;
            counts_[p.start + i] = {topic, 0};
        }
    }
    return at == order.size() ? result<void>{} : bad;
}

bool document_topics::count_again(std::size_t document, std::uint32_t topic) noexcept {
    const place& p = places_[document];
    topic_count* const own = counts_ + p.start;
    for (std::uint32_t i = 0; i < p.length; ++i)
        if (own[i].topic == topic) {
            ++own[i].count;
            return true;
        }
    return false;
}

bool document_topics::is_complete() const noexcept {
    for (std::size_t d = 0; d < places_.size(); ++d)
        if (std::ranges::any_of(of(d), [](const topic_count& c) { return c.count == 0; }))
            return false;
    return true;
}

} // namespace troupe::lda
