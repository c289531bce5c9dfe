#include "actors/peers/gossip_rule.hpp"

#include <algorithm>

namespace troupe {

gossip::gossip(const gossip_rule& rule, std::uint32_t rank, std::size_t ranks)
    : rank_{rank}, random_{rule.seed, rank} {
    for (std::uint32_t r = 0; r < ranks; ++r)
        if (r != rank)
            others_.push_back(r);
}

std::optional<std::uint32_t> gossip::choose() {
    if (awaited_ || others_.empty())
        return std::nullopt;
    return awaited_ = others_[random_.below(others_.size())];
}

gossip::reply gossip::meet(std::uint32_t from) {
    if (!awaited_)
        return reply::move;
    if (*awaited_ != from)
        return reply::busy;
    if (rank_ < from)
        return reply::silence;
    awaited_.reset();
    return reply::move;
}

bool gossip::met(std::uint32_t from) {
    if (awaited_ != from)
        return false;
    awaited_.reset();
    return true;
}

void gossip::lose(std::uint32_t rank) {
    std::erase(others_, rank);
    if (awaited_ == rank)
        awaited_.reset();
}

void gossip::gain(std::uint32_t rank) {
    others_.insert(std::ranges::lower_bound(others_, rank), rank);
}

} // namespace troupe
