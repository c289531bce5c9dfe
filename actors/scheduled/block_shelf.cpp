#include "actors/scheduled/block_shelf.hpp"

#include <cstring>

#include "schemas/base/check.hpp"

namespace troupe::scheduled {

namespace {

error bad(const held_block& block, const char* sentence) {
    return {errc::protocol, "block " + std::to_string(block.number) + " for turn " +
                                std::to_string(block.turn) + sentence};
}

} // namespace

result<void> block_shelf::restart(std::uint64_t phase, std::vector<held_block> blocks) {
    block_shelf made{ring_, worker_};
    made.next_ = ring_.turns_before(phase);
    for (held_block& block : blocks)
        if (auto fits = made.put(std::move(block)); !fits)
            return fits;
    if (!made.has_all_at(phase))
        return error{errc::protocol, "blocks of the next turns are missing"};
    next_ = made.next_;
    held_ = std::move(made.held_);
    return {};
}

result<void> block_shelf::put(held_block block) {
    // The worker before computes with what this one has handed on: it is ahead by less than a sweep.
    if (block.turn < next_ || block.turn - next_ > 2 * std::uint64_t{ring_.blocks()})
        return bad(block, " is not of the next turns");
    if (block.number != ring_.block_of(worker_, block.turn))
        return bad(block, " is another worker's");
    if (held_.contains(block.turn))
        return bad(block, " is here already");
    const std::uint64_t turn = block.turn;
    held_.emplace(turn, std::move(block));
    return {};
}

bool block_shelf::has_all_at(std::uint64_t phase) const {
    const std::uint64_t first = ring_.turns_before(phase);
    for (std::uint64_t turn = first; turn < ring_.next_turn(first); ++turn)
        if (!has(turn))
            return false;
    return true;
}

held_block block_shelf::take(std::uint64_t turn) {
    const auto found = held_.find(turn);
    TROUPE_CHECK(found != held_.end(), "the worker waits for its block");
    held_block block = std::move(found->second);
    held_.erase(found);
    next_ = turn + 1;
    return block;
}

std::vector<held_block> block_shelf::all_at(std::uint64_t phase) const {
    const std::uint64_t first = ring_.turns_before(phase);
    std::vector<held_block> blocks;
    for (std::uint64_t turn = first; turn < ring_.next_turn(first); ++turn)
        blocks.push_back(held_.at(turn));
    return blocks;
}

std::string block_shelf::describe() const {
    std::string text;
    for (const auto& [turn, block] : held_)
        text += (text.empty() ? "" : ", ") + std::to_string(block.number);
    return text;
}

result<void> make_own(payload& content, memory_pool& memory) {
    for (tensor& t : content) {
        if (!t || (t.unique() && t.is_host()))
            continue;
        auto copy = tensor::allocate(memory, t.type(), t.shape());
        if (!copy)
            return copy.failure();
        if (t.bytes() > 0)
            std::memcpy(copy->mutable_data(), t.data(), t.bytes());
        t = std::move(*copy);
    }
    return {};
}

} // namespace troupe::scheduled
