#include "actors/collective/block_layout.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {

namespace {

// Assigns a tensor's units to ranks: pairs of rank and number of units, in the order of the tensor's elements. All ranks get
// equally many, and remaining units go to the ranks with the least load, which come last as the last unit may be smaller.
std::vector<std::pair<std::uint32_t, std::size_t>> assign(std::size_t units,
                                                          std::span<const std::uint64_t> load) {
    std::vector<std::uint32_t> ranks(load.size());
    std::iota(ranks.begin(), ranks.end(), 0u);
    std::ranges::stable_sort(ranks, {}, [&](std::uint32_t r) { return load[r]; });
    const std::size_t left = units % ranks.size();
    std::ranges::rotate(ranks, ranks.begin() + static_cast<std::ptrdiff_t>(left));
    std::vector<std::pair<std::uint32_t, std::size_t>> shares;
    for (const std::uint32_t r : ranks)
        shares.emplace_back(r, units / ranks.size() + (shares.size() + left >= ranks.size()));
    return shares;
}

} // namespace

block_layout block_layout::make(const codec_ptr& how, std::span<const tensor_shape> shapes,
                                std::uint32_t ranks) {
    const payload_blocks& blocks = *how->blocks();
    const codec_ptr other = blocks.of_sums();
    block_layout layout{other ? other : how, std::vector<std::vector<owned_block>>(ranks),
                        std::vector<std::uint64_t>(ranks), std::vector<std::uint64_t>(ranks)};
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        const std::size_t elements = shapes[t].elements();
        const std::size_t unit = blocks.unit(shapes[t]);
        std::size_t first = 0;
        for (const auto& [r, units] :
             assign((elements + unit - 1) / unit, layout.submitted_bytes)) {
            const std::size_t count = std::min(units * unit, elements - first);
            if (count == 0)
                continue;
            const tensor_shape shape = blocks.shape_of(shapes[t], count);
            layout.owned[r].push_back({t, {first, count}, shape});
            layout.submitted_bytes[r] += how->payload_bytes(shape);
            layout.sum_bytes[r] += layout.sums->payload_bytes(shape);
            first += count;
        }
    }
    return layout;
}

std::uint64_t block_layout::bytes_sent(std::uint32_t rank) const {
    const std::uint64_t submitted =
        std::accumulate(submitted_bytes.begin(), submitted_bytes.end(), std::uint64_t{0});
    return submitted - submitted_bytes[rank] + (ranks() - 1) * sum_bytes[rank];
}

std::uint64_t block_layout::bytes_sent_max() const {
    std::uint64_t most = 0;
    for (std::uint32_t r = 0; r < ranks(); ++r)
        most = std::max(most, bytes_sent(r));
    return most;
}

} // namespace troupe
