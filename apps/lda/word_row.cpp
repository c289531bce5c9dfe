#include "apps/lda/word_row.hpp"

#include <algorithm>

namespace troupe::lda {

namespace {

// So that sums do not overflow.
constexpr std::int32_t count_max = 1 << 30;

} // namespace

void word_row::clear() {
    std::ranges::fill(counts_, 0);
    touched_.clear();
    nonzeros_ = 0;
}

result<void> word_row::unpack(std::span<const std::int32_t> packed) {
    const std::size_t topics = counts_.size();
    const auto bad = [this] {
        clear();
        return error{errc::protocol, "a block of words has a row that is none of counts of topics"};
    };
    const auto take = [this](std::size_t topic, std::int32_t count) {
        counts_[topic] = count;
        touched_.push_back(static_cast<std::uint32_t>(topic));
        ++nonzeros_;
    };
    if (packed.size() == topics) {
        for (std::size_t k = 0; k < topics; ++k) {
            if (packed[k] < 0 || packed[k] > count_max)
                return bad();
            if (packed[k] > 0)
                take(k, packed[k]);
        }
        return {};
    }
    if (packed.size() > topics || packed.size() % 2 != 0)
        return bad();
    for (std::size_t i = 0; i < packed.size(); i += 2) {
        const std::int32_t topic = packed[i], count = packed[i + 1];
        if (topic < 0 || static_cast<std::size_t>(topic) >= topics || count <= 0 ||
            count > count_max || counts_[static_cast<std::size_t>(topic)] != 0)
            return bad();
        take(static_cast<std::size_t>(topic), count);
    }
    return {};
}

} // namespace troupe::lda
