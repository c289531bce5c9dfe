#include "apps/lda/shared_totals.hpp"

#include <algorithm>

namespace troupe::lda {

void shared_totals::begin() {
    before_.assign(totals_.counts().begin(), totals_.counts().end());
}

std::vector<std::int64_t> shared_totals::end(std::uint64_t phase) {
    std::vector<std::int64_t> own(before_.size());
    std::ranges::transform(totals_.counts(), before_, own.begin(), std::minus{});
    untold_.push_back({phase, own});
    return own;
}

result<void> shared_totals::apply(std::uint64_t phase, std::span<const std::int64_t> changes) {
    if (untold_.empty() || untold_.front().phase != phase ||
        changes.size() != totals_.counts().size())
        return error{errc::protocol, "a worker of lda is told the changes of phase " +
                                         std::to_string(phase) + ", which it did not expect"};
    const std::vector<std::int64_t>& own = untold_.front().own;
    for (std::uint32_t k = 0; k < own.size(); ++k)
        if (changes[k] != own[k])
            totals_.change(k, changes[k] - own[k]);
    untold_.pop_front();
    return {};
}

std::vector<std::int64_t> shared_totals::phases() const {
    std::vector<std::int64_t> all;
    for (const turn_changes& t : untold_)
        all.push_back(static_cast<std::int64_t>(t.phase));
    return all;
}

std::vector<std::int64_t> shared_totals::own() const {
    std::vector<std::int64_t> all;
    for (const turn_changes& t : untold_)
        all.insert(all.end(), t.own.begin(), t.own.end());
    return all;
}

result<void> shared_totals::load(std::span<const std::int64_t> counts,
                                 std::span<const std::int64_t> phases,
                                 std::span<const std::int64_t> own) {
    const std::size_t topics = totals_.counts().size();
    if (counts.size() != topics || own.size() != phases.size() * topics)
        return error{errc::protocol, "the saved totals of topics have other sizes"};
    totals_.assign(counts);
    untold_.clear();
    for (std::size_t i = 0; i < phases.size(); ++i) {
        const auto part = own.subspan(i * topics, topics);
        untold_.push_back({static_cast<std::uint64_t>(phases[i]), {part.begin(), part.end()}});
    }
    return {};
}

} // namespace troupe::lda
