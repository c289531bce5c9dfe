#include "actors/collective/sparse_reducer.hpp"

#include <algorithm>

namespace troupe {

sparse_reducer::sparse_reducer(actor_context& context, compressed_options options,
                               sparse_algorithm algorithm)
    : compressed_reducer{context, std::move(options)},
      algorithm_{algorithm}, lost_{std::make_shared<std::vector<float>>()} {}

void sparse_reducer::joined() {
    const auto ranks = static_cast<std::uint32_t>(members().size());
    plan_ = std::make_shared<sparse_plan>(sparse_plan::make(
        algorithm_, rank(), ranks, options().shapes,
        sparse_layout::of(*options().codec, options().shapes, options().averages)));
}

void sparse_reducer::accept(std::size_t first, std::vector<tensor> submitted) {
    if (auto own = collect(first, std::move(submitted)))
        begin(std::move(*own));
}

// Makes the parts that are sent first.
void sparse_reducer::begin(std::vector<tensor> own) {
    given_ = 0;
    sum_ = std::make_shared<running_sum>();
    sum_->lost = lost_;
    submit(
        proto::SUM_WORK->cStr(), elements(),
        [own = std::move(own), sum = sum_, plan = plan_](compute_context& context) -> result<void> {
            auto numbers = sparse_sum::begin(context, *plan, own, *sum->lost);
            if (!numbers)
                return numbers.failure();
            sum->numbers.emplace(std::move(*numbers));
            auto first = sum->numbers->send(context);
            if (!first)
                return first.failure();
            sum->to_send = std::move(*first);
            return {};
        },
        [this] { send_on(); });
}

void sparse_reducer::send_on() {
    for (const auto& out : std::exchange(sum_->to_send, {}))
        send_chunk(out.to, 0, out.round, out.part);
    go_on();
}

// Takes the parts that have arrived, up to the first gap in the order of transfers.
void sparse_reducer::go_on() {
    if (!current_reduction() || !sum_ || is_busy())
        return;
    std::vector<std::vector<tensor>> parts;
    const auto& transfers = plan_->transfers;
    for (; given_ < transfers.size(); ++given_) {
        if (transfers[given_].from == nobody)
            continue;
        auto arrival = arrived_.extract({current_reduction()->id, transfers[given_].round});
        if (arrival.empty())
            break;
        parts.push_back(std::move(arrival.mapped()));
    }
    const bool is_last = given_ == transfers.size();
    if (parts.empty() && !is_last)
        return;
    submit(
        proto::SUM_WORK->cStr(), elements(),
        [parts = std::move(parts), sum = sum_, plan = plan_, is_last,
         factor = current_reduction()->scale](compute_context& context) -> result<void> {
            for (const auto& part : parts) {
                if (auto taken = sum->numbers->accept(context, part); !taken)
                    return taken;
                auto next = sum->numbers->send(context);
                if (!next)
                    return next.failure();
                std::ranges::move(*next, std::back_inserter(sum->to_send));
            }
            if (!is_last)
                return {};
            auto sums = sum->numbers->sums(context, factor);
            if (!sums)
                return sums.failure();
            sum->sums = std::move(*sums);
            return {};
        },
        [this, is_last] {
            if (!is_last)
                return send_on();
            for (const auto& out : sum_->to_send)
                send_chunk(out.to, 0, out.round, out.part);
            finish(std::move(std::exchange(sum_, nullptr)->sums));
        });
}

result<void> sparse_reducer::arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                    const frame& f) {
    const std::uint64_t id = body.getReduction();
    const auto& transfers = plan_->transfers;
    const bool has_begun = is_current(id) && sum_;
    const auto begin = transfers.begin() + static_cast<std::ptrdiff_t>(has_begun ? given_ : 0);
    const auto due =
        std::ranges::find(begin, transfers.end(), body.getRound(), &reduce_transfer::round);
    if (due == transfers.end() || due->from != rank || body.getSlice() != 0 ||
        arrived_.contains({id, body.getRound()}))
        return error{errc::protocol, "comes from a rank that sends nothing then, or twice"};
    if (auto fits = plan_->check(*due, f.tensors()); !fits)
        return fits;
    arrived_[{id, body.getRound()}] = {f.tensors().begin(), f.tensors().end()};
    go_on();
    return {};
}

} // namespace troupe
