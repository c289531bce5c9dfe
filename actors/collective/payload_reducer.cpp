#include "actors/collective/payload_reducer.hpp"

#include <algorithm>

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

// The position of the first of these numbers, in ascending order, that is not below `least`.
std::size_t place_of(const std::vector<std::size_t>& numbers, std::size_t least) {
    return static_cast<std::size_t>(std::ranges::lower_bound(numbers, least) - numbers.begin());
}

} // namespace

result<tensor> payloads_to_sum::sum(compute_context& context, float factor) const {
    auto sum = tensor::allocate(context.memory, data_type::float32, shape);
    if (!sum)
        return sum;
    for (const tensor& payload : payloads) {
        const tensor* const addend = &payload == &payloads.front() ? nullptr : &*sum;
        if (auto added = form->decode(context, payload, 1, addend, *sum); !added)
            return added.failure();
    }
    const auto done = payloads.empty() ? context.ops.run(fill{*sum, 0})
                      : factor != 1    ? context.ops.run(scale{*sum, factor, *sum})
                                       : result<void>{};
    return done ? std::move(sum) : result<tensor>{done.failure()};
}

error not_due() {
    return {errc::protocol, "comes from a rank that sends nothing then, or twice"};
}

result<void> payload_arrivals::accept(std::size_t first, std::span<const tensor> payloads) {
    if (payloads.empty() || first > from_ || first + payloads.size() != from_)
        return not_due();
    std::ranges::copy(payloads, payloads_.begin() + static_cast<std::ptrdiff_t>(first));
    from_ = first;
    return {};
}

result<void> payload_arrivals::take_zeros() {
    if (from_ == 0 || from_ != payloads_.size())
        return not_due();
    from_ = 0;
    has_zeros_ = true;
    return {};
}

payload_reducer::payload_reducer(actor_context& context, compressed_options options)
    : compressed_reducer{context, std::move(options)} {
    for (std::size_t t = 0; t < this->options().shapes.size(); ++t)
        (this->options().forms[t] ? packed_ : dense_).push_back(t);
    TROUPE_CHECK(!packed_.empty(), "some tensor has a form");
}

void payload_reducer::joined() {
    std::vector<tensor_shape> shapes;
    std::size_t elements = 0;
    for (const std::size_t t : dense_) {
        shapes.push_back(options().shapes[t]);
        elements += shapes.back().elements();
    }
    const rank_nodes ranks = nodes_of(members());
    rounds_.emplace(
        reduction_plan::make(std::move(shapes),
                             choose(proto::AllReduceAlgorithm::AUTO, ranks, elements), rank(),
                             ranks),
        [this](std::uint32_t to, std::uint32_t slice, std::uint32_t round, tensor part) {
            send_chunk(to, slice, round, {&part, 1});
        },
        [this](const auto& add) { return timed_sum(add); });
}

void payload_reducer::step() {
    if (current_reduction() && !is_busy())
        go_on();
}

// ---- tensors of the stage -------------------------------------------------------------------------------------------

void payload_reducer::accept(std::size_t first, std::vector<tensor> submitted) {
    if (!rounds_->is_under_way()) {
        rounds_->begin(current_reduction()->id, options().compute->memory(),
                       current_reduction()->scale);
        begin();
    }
    auto done = submit_all(first, std::move(submitted));
    if (done)
        done = rounds_->go_on();
    if (!done)
        return fail(done.failure().in("summing over replicas"));
    step();
}

result<void> payload_reducer::submit_all(std::size_t first, std::vector<tensor> submitted) {
    if (submitted.empty()) {
        const auto zeros = rounds_->numbers().submit_zeros();
        return zeros ? submit_zeros() : zeros;
    }
    std::vector<tensor> dense, payloads;
    for (std::size_t i = 0; i < submitted.size(); ++i)
        (options().forms[first + i] ? payloads : dense).push_back(std::move(submitted[i]));
    if (!dense.empty())
        rounds_->numbers().submit(place_of(dense_, first), std::move(dense));
    return payloads.empty() ? result<void>{} : submit_payloads(place_of(packed_, first), payloads);
}

void payload_reducer::send_payloads(std::uint32_t to, std::uint32_t round, std::size_t first,
                                    std::span<const tensor> payloads) {
    send_chunk(to, static_cast<std::uint32_t>(rounds_->slices() + first), round, payloads);
}

// ---- arrivals -------------------------------------------------------------------------------------------------------

result<void> payload_reducer::arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                     const frame& f) {
    const std::size_t slices = rounds_->slices();
    auto taken = [&]() -> result<void> {
        if (body.getSlice() < slices)
            return rounds_->arrive(body, rank, f.tensors());
        if (rank == this->rank())
            return not_due();
        return arrive_payloads(body, rank, body.getSlice() - slices, f.tensors());
    }();
    if (taken)
        step();
    return taken;
}

void payload_reducer::finish_all(std::vector<tensor> sums) {
    auto dense = rounds_->end();
    if (!dense)
        return fail(dense.failure().in("summing over replicas"));
    std::vector<tensor> all(options().shapes.size());
    for (std::size_t i = 0; i < dense_.size(); ++i)
        all[dense_[i]] = std::move((*dense)[i]);
    for (std::size_t i = 0; i < packed_.size(); ++i)
        all[packed_[i]] = std::move(sums[i]);
    finish(std::move(all));
}

} // namespace troupe
