#include "actors/collective/gatherer.hpp"

#include <algorithm>

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

using rank_parts = std::vector<std::vector<tensor>>; // of the ranks that have some, in their order

// sum += or = what a rank sent of a tensor.
result<void> add(compute_context& context, const codec* how, const tensor& part, bool is_first,
                 tensor& sum) {
    const tensor* const addend = is_first ? nullptr : &sum;
    if (how != nullptr)
        return how->decode(context, part, 1, addend, sum);
    return is_first ? context.ops.run(scale{part, 1, sum})
                    : context.ops.run(add_scaled{sum, 1, part, sum});
}

result<std::vector<tensor>> sum_of(compute_context& context, const compressed_options& options,
                                   const rank_parts& parts, float factor) {
    std::vector<tensor> sums;
    for (std::size_t t = 0; t < options.shapes.size(); ++t) {
        auto sum = tensor::allocate(context.memory, data_type::float32, options.shapes[t]);
        if (!sum)
            return sum.failure();
        const codec* const how = t < options.averages ? nullptr : options.codec.get();
        for (const auto& part : parts)
            if (auto added = add(context, how, part[t], &part == &parts.front(), *sum); !added)
                return added.failure();
        if (parts.empty())
            if (auto filled = context.ops.run(fill{*sum, 0}); !filled)
                return filled.failure();
        if (factor != 1)
            if (auto scaled = context.ops.run(scale{*sum, factor, *sum}); !scaled)
                return scaled.failure();
        sums.push_back(std::move(*sum));
    }
    return sums;
}

} // namespace

gatherer::gatherer(actor_context& context, compressed_options options)
    : compressed_reducer{context, std::move(options)} {}

void gatherer::joined() {
    encoder_ = std::make_shared<gradient_encoder>(encoder_options());
}

void gatherer::begin(std::vector<tensor> own) {
    if (own.empty())
        return send_parts({});
    auto parts = std::make_shared<std::vector<tensor>>(std::move(own));
    submit(
        proto::ENCODE_WORK->cStr(),
        [parts, encoder = encoder_, averages = options().averages,
         epoch = current_reduction()->epoch](compute_context& context) -> result<void> {
            const auto gradients = std::span{*parts}.subspan(averages);
            auto payloads = encoder->encode(context, gradients, epoch);
            if (!payloads)
                return payloads.failure();
            std::ranges::move(*payloads, gradients.begin());
            return {};
        },
        [this, parts] { send_parts(std::move(*parts)); });
}

void gatherer::send_parts(std::vector<tensor> own) {
    for (std::uint32_t r = 0; r < members().size(); ++r)
        if (r != rank())
            send_chunk(r, 0, 0, own);
    parts_[{current_reduction()->id, rank()}] = std::move(own);
    sum_when_all_are_here();
}

void gatherer::sum_when_all_are_here() {
    if (!current_reduction() || is_busy())
        return;
    const std::uint64_t id = current_reduction()->id;
    for (std::uint32_t r = 0; r < members().size(); ++r)
        if (!parts_.contains({id, r}))
            return;
    rank_parts parts;
    for (std::uint32_t r = 0; r < members().size(); ++r)
        if (auto part = parts_.extract({id, r}); !part.mapped().empty())
            parts.push_back(std::move(part.mapped()));
    is_summing_ = true;
    auto sums = std::make_shared<std::vector<tensor>>();
    submit(
        proto::SUM_WORK->cStr(),
        [sums, options = options(), parts = std::move(parts),
         factor = current_reduction()->scale](compute_context& context) -> result<void> {
            auto made = sum_of(context, options, parts, factor);
            if (!made)
                return made.failure();
            *sums = std::move(*made);
            return {};
        },
        [this, sums] {
            is_summing_ = false;
            finish(std::move(*sums));
        });
}

// ---- what arrives ---------------------------------------------------------------------------------------------------

result<void> gatherer::arrive(proto::ReduceChunk::Reader body, std::uint32_t rank, const frame& f) {
    const std::uint64_t id = body.getReduction();
    if (rank == this->rank() || (is_summing_ && is_current(id)) || parts_.contains({id, rank}))
        return error{errc::protocol, "comes from a rank that sends nothing then, or twice"};
    if (auto fits = check_parts(f.tensors()); !fits)
        return fits;
    parts_[{id, rank}] = {f.tensors().begin(), f.tensors().end()};
    sum_when_all_are_here();
    return {};
}

result<void> gatherer::check_parts(std::span<const tensor> parts) const {
    if (parts.empty())
        return {};
    if (parts.size() != options().shapes.size())
        return error{errc::protocol, "has not the tensors of the stage's weights"};
    for (std::size_t t = 0; t < parts.size(); ++t) {
        const tensor_shape& shape = options().shapes[t];
        if (t >= options().averages) {
            if (auto fits = options().codec->check(shape, parts[t]); !fits)
                return fits;
        } else if (parts[t].type() != data_type::float32 || parts[t].shape() != shape) {
            return error{errc::protocol, "has not the stage's running averages"};
        }
    }
    return {};
}

} // namespace troupe
