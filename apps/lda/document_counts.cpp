#include "apps/lda/document_counts.hpp"

#include <algorithm>

namespace troupe::lda {

result<document_counts> document_counts::make(memory_pool& memory,
                                              std::span<const std::uint32_t> sizes,
                                              std::uint32_t topics) {
    document_counts made;
    made.stride_ = (topics + topic_group - 1) / topic_group * topic_group;
    made.sizes_.assign(sizes.begin(), sizes.end());
    const bool is_wide = needs_wide_counts(sizes);
    const std::uint64_t bytes =
        sizes.size() * made.stride_ * (is_wide ? sizeof(std::int32_t) : sizeof(std::uint16_t));
    auto counts = tensor::allocate(memory, data_type::uint8, {bytes});
    if (!counts)
        return counts.failure();
    made.memory_ = std::move(*counts);
    auto* const data = made.memory_.mutable_data();
    if (is_wide)
        made.wide_ = reinterpret_cast<std::int32_t*>(data);
    else
        made.narrow_ = reinterpret_cast<std::uint16_t*>(data);
    made.clear();
    return made;
}

void document_counts::clear() noexcept {
    left_ = sizes_;
    const std::size_t counts = sizes_.size() * stride_;
    if (wide_ != nullptr)
        std::fill_n(wide_, counts, 0);
    else
        std::fill_n(narrow_, counts, std::uint16_t{0});
}

bool document_counts::add(std::size_t document, std::uint32_t topic) noexcept {
    if (left_[document] == 0)
        return false;
    --left_[document];
    const std::uint64_t at = document * stride_ + topic;
    if (wide_ != nullptr)
        ++wide_[at];
    else
        ++narrow_[at];
    return true;
}

} // namespace troupe::lda
