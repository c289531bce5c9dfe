#include "apps/lda/document_topics.hpp"

#include <algorithm>
#include <type_traits>

#include "apps/lda/document_counts.hpp"

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
        start += (room + block_places - 1) / block_places;
    }
    made.topics_ = topics;
    made.blocks_ = start;
    const bool is_wide = needs_wide_counts(sizes);
    const std::uint64_t bytes =
        start * (is_wide ? sizeof(list_block<std::int32_t>) : sizeof(list_block<std::uint16_t>));
    auto blocks = tensor::allocate(memory, data_type::uint8, {bytes});
    if (!blocks)
        return blocks.failure();
    made.memory_ = std::move(*blocks);
    auto* const data = made.memory_.mutable_data();
    if (is_wide)
        made.wide_ = reinterpret_cast<list_block<std::int32_t>*>(data);
    else
        made.narrow_ = reinterpret_cast<list_block<std::uint16_t>*>(data);
    made.clear();
    return made;
}

void document_topics::clear() noexcept {
    for (list_place& p : places_)
        p.length = 0;
    by_blocks([this](auto* blocks) {
        std::remove_pointer_t<decltype(blocks)> none{};
        std::ranges::fill(none.topics, static_cast<std::uint16_t>(topics_));
        std::fill_n(blocks, blocks_, none);
    });
}

std::size_t document_topics::find(std::size_t document, std::uint32_t topic) const noexcept {
    const std::size_t length = places_[document].length;
    return by_blocks([&](auto* blocks) {
        std::size_t i = 0;
        while (i < length && at(blocks, document, i).topics[i % block_places] != topic)
            ++i;
        return i;
    });
}

void document_topics::set(std::size_t document, std::size_t i, std::uint32_t topic) noexcept {
    by_blocks([&](auto* blocks) {
        at(blocks, document, i).topics[i % block_places] = static_cast<std::uint16_t>(topic);
    });
}

void document_topics::count_one(std::size_t document, std::size_t i) noexcept {
    by_blocks([&](auto* blocks) { ++at(blocks, document, i).counts[i % block_places]; });
}

std::int32_t document_topics::count(std::size_t document, std::uint32_t topic) const noexcept {
    const std::size_t i = find(document, topic);
    return i < length(document) ? tokens(document, i) : 0;
}

bool document_topics::add(std::size_t document, std::uint32_t topic) noexcept {
    list_place& p = places_[document];
    const std::size_t i = find(document, topic);
    if (i == p.length) {
        if (p.length == p.room)
            return false;
        set(document, p.length++, topic);
    }
    count_one(document, i);
    return true;
}

std::vector<std::int32_t> document_topics::lengths() const {
    std::vector<std::int32_t> all;
    for (const list_place& p : places_)
        all.push_back(static_cast<std::int32_t>(p.length));
    return all;
}

std::vector<std::uint16_t> document_topics::order() const {
    std::vector<std::uint16_t> all;
    for (std::size_t d = 0; d < places_.size(); ++d)
        for (std::size_t i = 0; i < length(d); ++i)
            all.push_back(static_cast<std::uint16_t>(topic(d, i)));
    return all;
}

result<void> document_topics::load(std::span<const std::int32_t> lengths,
                                   std::span<const std::uint16_t> order, std::uint32_t topics) {
    const error bad{errc::protocol, "the saved topics of documents are of other documents"};
    if (lengths.size() != places_.size())
        return bad;
    clear();
    std::size_t at = 0;
    for (std::size_t d = 0; d < places_.size(); ++d) {
        list_place& p = places_[d];
        const std::int32_t length = lengths[d];
        if (length < 0 || static_cast<std::uint32_t>(length) > p.room ||
            static_cast<std::size_t>(length) > order.size() - at)
            return bad;
        p.length = static_cast<std::uint32_t>(length);
        for (std::uint32_t i = 0; i < p.length; ++i) {
            const std::uint16_t topic = order[at++];
            if (topic >= topics)
                return bad;
            set(d, i, topic);
        }
    }
    return at == order.size() ? result<void>{} : bad;
}

bool document_topics::count_again(std::size_t document, std::uint32_t topic) noexcept {
    const std::size_t i = find(document, topic);
    if (i == length(document))
        return false;
    count_one(document, i);
    return true;
}

bool document_topics::is_complete() const noexcept {
    for (std::size_t d = 0; d < places_.size(); ++d)
        for (std::size_t i = 0; i < length(d); ++i)
            if (tokens(d, i) == 0)
                return false;
    return true;
}

} // namespace troupe::lda
