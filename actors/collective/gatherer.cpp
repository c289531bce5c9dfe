#include "actors/collective/gatherer.hpp"

#include <algorithm>

namespace troupe {

gatherer::gatherer(actor_context& context, compressed_options options)
    : payload_reducer{context, std::move(options)} {}

// ---- tensors of the stage -------------------------------------------------------------------------------------------

void gatherer::begin() {
    sums_.assign(packed().size(), {});
    summed_from_ = packed().size();
}

result<void> gatherer::submit_payloads(std::size_t first, std::span<const tensor> payloads) {
    send_to_all(first, payloads);
    return keep({current_reduction()->id, rank()}, first, payloads);
}

result<void> gatherer::submit_zeros() {
    send_to_all(0, {});
    return keep({current_reduction()->id, rank()}, 0, {});
}

void gatherer::send_to_all(std::size_t first, std::span<const tensor> payloads) {
    for (std::uint32_t r = 0; r < members().size(); ++r)
        if (r != rank())
            send_payloads(r, 0, first, payloads);
}

// ---- arrivals -------------------------------------------------------------------------------------------------------

result<void> gatherer::arrive_payloads(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                       std::size_t first, std::span<const tensor> payloads) {
    if (body.getRound() != 0)
        return not_due();
    return keep({body.getReduction(), rank}, first, payloads);
}

result<void> gatherer::keep(part_key whose, std::size_t first, std::span<const tensor> payloads) {
    payload_arrivals& part = parts_.try_emplace(whose, packed().size()).first->second;
    if (payloads.empty() && first == 0)
        return part.take_zeros();
    if (auto due = part.accept(first, payloads); !due)
        return due;
    for (std::size_t i = 0; i < payloads.size(); ++i)
        if (auto fits = check_tensor(packed()[first + i], payloads[i]); !fits)
            return fits;
    return {};
}

// ---- sums -----------------------------------------------------------------------------------------------------------

void gatherer::go_on() {
    std::size_t first = 0; // all ranks have submitted payloads from this number on
    for (std::uint32_t r = 0; r < members().size(); ++r) {
        const auto part = parts_.find({current_reduction()->id, r});
        first = std::max(first, part == parts_.end() ? packed().size() : part->second.from());
    }
    if (first < summed_from_)
        return sum_from(first);
    if (summed_from_ > 0 || !is_rest_done())
        return;
    for (std::uint32_t r = 0; r < members().size(); ++r)
        parts_.erase({current_reduction()->id, r});
    finish_all(std::move(sums_));
}

void gatherer::sum_from(std::size_t first) {
    std::vector<payloads_to_sum> tensors;
    std::size_t elements = 0;
    for (std::size_t i = first; i < summed_from_; ++i) {
        const std::size_t number = packed()[i];
        payloads_to_sum t{options().shapes[number], options().forms[number], {}};
        for (std::uint32_t r = 0; r < members().size(); ++r)
            if (payload_arrivals& part = parts_.at({current_reduction()->id, r}); !part.has_zeros())
                t.payloads.push_back(part.let_go(i));
        elements += t.payloads.size() * t.shape.elements();
        tensors.push_back(std::move(t));
    }
    summed_from_ = first;
    auto sums = std::make_shared<std::vector<tensor>>();
    submit(
        proto::SUM_WORK->cStr(), elements,
        [sums, tensors = std::move(tensors),
         factor = current_reduction()->scale](compute_context& context) -> result<void> {
            for (const payloads_to_sum& t : tensors) {
                auto sum = t.sum(context, factor);
                if (!sum)
                    return sum.failure();
                sums->push_back(std::move(*sum));
            }
            return {};
        },
        [this, sums, first] {
            std::ranges::move(*sums, sums_.begin() + static_cast<std::ptrdiff_t>(first));
            step();
        });
}

} // namespace troupe
