#include "actors/collective/reduction_rounds.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::size_t slices_under_way = 4;

} // namespace

rank_nodes nodes_of(std::span<const actor_address> members) {
    std::vector<std::uint32_t> nodes;
    for (const actor_address& member : members) {
        const auto same = std::ranges::find(members, member.node, &actor_address::node);
        nodes.push_back(static_cast<std::uint32_t>(same - members.begin()));
    }
    return rank_nodes{std::move(nodes)};
}

void reduction_rounds::begin(std::uint64_t id, memory_pool& memory, float scale) {
    current_.emplace(running{id, {plan_, memory, scale}});
}

result<std::vector<tensor>> reduction_rounds::end() {
    running done = std::move(*current_);
    next_id_ = done.id + 1;
    current_.reset();
    return std::move(done.numbers).sums();
}

// Begins slices in their order.
result<void> reduction_rounds::go_on() {
    while (current_->started < plan_.slices.size() &&
           current_->started - current_->finished < slices_under_way &&
           current_->numbers.can_start(current_->started))
        if (auto done = start(current_->started++); !done)
            return done;
    return {};
}

// Places are named before anything of the slice is sent. No finished sum comes earlier, as this rank's numbers are in it: it
// lies in its place, or its sender has broken the protocol and may still write there. So when the reduction ends every place
// has been used, and nobody but this rank writes its results.
result<void> reduction_rounds::start(std::size_t slice) {
    for (const reduce_transfer& t : plan_.transfers) {
        auto place = expect_ ? current_->numbers.place_of(slice, t) : tensor{};
        if (!place)
            return place.failure();
        const std::byte* const at = place->data();
        if (*place &&
            expect_(t.from, static_cast<std::uint32_t>(slice), t.round, std::move(*place)))
            current_->places.emplace(part_key{slice, t.round}, at);
    }
    return go_on(slice);
}

// Takes a slice as far through its rounds as the arrived chunks allow.
result<void> reduction_rounds::go_on(std::size_t slice) {
    reduction& numbers = current_->numbers;
    while (const reduce_transfer* const t = numbers.next(slice)) {
        if (!numbers.has_sent(slice)) {
            auto part = numbers.part_to_send(slice);
            if (!part)
                return part.failure();
            if (*part)
                send_(t->to, static_cast<std::uint32_t>(slice), t->round, std::move(*part));
        }
        if (plan_.elements_of(slice, t->receives).count > 0) {
            const auto arrival =
                arrived_.extract({current_->id, static_cast<std::uint32_t>(slice), t->round});
            if (arrival.empty())
                return {}; // until the chunk arrives
            const auto place = current_->places.extract({slice, t->round});
            if (!place.empty() && place.mapped() != arrival.mapped().data())
                return error{errc::protocol, "a finished sum is not where it was to be received"};
            if (auto taken = add_([&] { return numbers.accept(slice, arrival.mapped()); }); !taken)
                return taken;
        }
        numbers.step(slice);
    }
    ++current_->finished;
    current_->finished_early += slice < plan_.early_slices;
    return {};
}

result<void> reduction_rounds::arrive(proto::ReduceChunk::Reader body, std::uint32_t from,
                                      std::span<const tensor> parts) {
    if (auto fits = check(body, from, parts); !fits)
        return fits;
    arrived_.emplace(chunk_key{body.getReduction(), body.getSlice(), body.getRound()}, parts[0]);
    if (!current_ || body.getReduction() != current_->id || body.getSlice() >= current_->started)
        return {};
    if (auto done = go_on(body.getSlice()); !done)
        return done;
    return go_on();
}

// A chunk of any round may be due of a reduction that this rank has not begun.
result<void> reduction_rounds::check(proto::ReduceChunk::Reader body, std::uint32_t from,
                                     std::span<const tensor> parts) const {
    if (body.getSlice() >= plan_.slices.size())
        return error{errc::protocol, "there is no such slice"};
    auto begin = plan_.transfers.begin();
    if (current_ && body.getReduction() == current_->id) {
        const reduce_transfer* const next = current_->numbers.next(body.getSlice());
        begin = next ? begin + (next - plan_.transfers.data()) : plan_.transfers.end();
    }
    const auto due =
        std::ranges::find(begin, plan_.transfers.end(), body.getRound(), &reduce_transfer::round);
    const auto elements = [&] { return plan_.elements_of(body.getSlice(), due->receives).count; };
    if (due == plan_.transfers.end() || elements() == 0 || due->from != from ||
        body.getReduction() < next_id_ ||
        arrived_.contains({body.getReduction(), body.getSlice(), body.getRound()}))
        return error{errc::protocol, "comes from a rank that sends nothing then, or twice"};
    const bool fits =
        parts.size() == 1 && plan_.numbers_of(body.getSlice()).is_row(parts[0], elements());
    return fits ? result<void>{} : error{errc::protocol, "has not the elements that are due"};
}

} // namespace troupe
