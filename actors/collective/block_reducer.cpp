#include "actors/collective/block_reducer.hpp"

#include <algorithm>

namespace troupe {

namespace {

// The elements of a block of a tensor, in the block's shape; they share the tensor's memory.
tensor elements_of(const tensor& whole, const owned_block& block) {
    return whole.reshaped({whole.elements()})
        .rows(block.elements.first, block.elements.count)
        .reshaped(block.shape);
}

// The numbers of the blocks that belong to tensors first .. first + count.
index_range blocks_in(const std::vector<owned_block>& blocks, std::size_t first,
                      std::size_t count) {
    const auto begin = std::ranges::lower_bound(blocks, first, {}, &owned_block::tensor);
    const auto end = std::ranges::lower_bound(blocks, first + count, {}, &owned_block::tensor);
    return {static_cast<std::size_t>(begin - blocks.begin()),
            static_cast<std::size_t>(end - begin)};
}

} // namespace

block_reducer::block_reducer(actor_context& context, compressed_options options)
    : payload_reducer{context, std::move(options)} {
    TROUPE_CHECK(packed().size() + this->options().averages == this->options().shapes.size(),
                 "all but the averages are compressed");
}

void block_reducer::joined() {
    payload_reducer::joined();
    const auto ranks = static_cast<std::uint32_t>(members().size());
    const auto shapes = std::span{options().shapes}.subspan(options().averages);
    layout_ = block_layout::make(options().codec, shapes, ranks);
    std::vector<tensor_shape> own_shapes;
    for (const owned_block& block : own())
        own_shapes.push_back(block.shape);
    encoder_ = std::make_shared<gradient_encoder>(
        gradient_encoder::options{.how = layout_.sums,
                                  .shapes = std::move(own_shapes),
                                  .seed = options().seed,
                                  .replica = ranks + rank(), // the stage draws as `rank()`
                                  .replicas = ranks});
}

void block_reducer::begin() {
    summed_from_ = own().size();
    of_owners_.clear();
    for (const auto& blocks : layout_.owned)
        of_owners_.push_back({payload_arrivals{blocks.size()}, blocks.size()});
    sums_.assign(packed().size(), {});
}

// ---- blocks to their owners -----------------------------------------------------------------------------------------

result<void> block_reducer::submit_payloads(std::size_t first, std::span<const tensor> payloads) {
    for (std::uint32_t r = 0; r < layout_.ranks(); ++r) {
        const index_range due = blocks_in(layout_.owned[r], first, payloads.size());
        if (due.count == 0)
            continue;
        std::vector<tensor> parts;
        const auto cut = [&] { return cut_for(r, due, first, payloads, parts); };
        if (auto done = timed_sum(cut); !done)
            return done;
        if (r != rank())
            send_payloads(r, 0, due.first, parts);
        else if (auto kept = keep({current_reduction()->id, r}, due.first, parts); !kept)
            return kept;
    }
    return {};
}

result<void> block_reducer::cut_for(std::uint32_t owner, index_range due, std::size_t first,
                                    std::span<const tensor> payloads, std::vector<tensor>& parts) {
    const payload_blocks& how = *options().codec->blocks();
    for (std::size_t i = due.first; i < due.first + due.count; ++i) {
        const owned_block& block = layout_.owned[owner][i];
        auto part =
            how.cut(options().compute->memory(), options().shapes[packed()[block.tensor]],
                    payloads[block.tensor - first], block.elements.first, block.elements.count);
        if (!part)
            return part.failure();
        parts.push_back(std::move(*part));
    }
    return {};
}

result<void> block_reducer::submit_zeros() {
    for (std::uint32_t r = 0; r < layout_.ranks(); ++r)
        if (r != rank() && !layout_.owned[r].empty())
            send_payloads(r, 0, 0, {});
    return own().empty() ? result<void>{} : keep({current_reduction()->id, rank()}, 0, {});
}

// ---- arrivals -------------------------------------------------------------------------------------------------------

result<void> block_reducer::arrive_payloads(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                            std::size_t first, std::span<const tensor> payloads) {
    if (body.getRound() == 0)
        return keep({body.getReduction(), rank}, first, payloads);
    // An owner's sums need this rank's payloads, so none arrives before this reduction is under way.
    if (body.getRound() == 1 && is_current(body.getReduction()))
        return keep_sums(rank, first, payloads);
    return not_due();
}

result<void> block_reducer::keep(part_key whose, std::size_t first,
                                 std::span<const tensor> payloads) {
    payload_arrivals& part = parts_.try_emplace(whose, own().size()).first->second;
    if (payloads.empty() && first == 0)
        return part.take_zeros();
    if (auto due = part.accept(first, payloads); !due)
        return due;
    for (std::size_t i = 0; i < payloads.size(); ++i)
        if (auto fits = options().codec->check(own()[first + i].shape, payloads[i]); !fits)
            return fits;
    return {};
}

result<void> block_reducer::keep_sums(std::uint32_t owner, std::size_t first,
                                      std::span<const tensor> payloads) {
    if (auto due = of_owners_[owner].encoded.accept(first, payloads); !due)
        return due;
    for (std::size_t i = 0; i < payloads.size(); ++i)
        if (auto fits = layout_.sums->check(layout_.owned[owner][first + i].shape, payloads[i]);
            !fits)
            return fits;
    return {};
}

// ---- sums -----------------------------------------------------------------------------------------------------------

// This rank's sums come first, as other ranks wait for them.
void block_reducer::go_on() {
    const std::size_t first = submitted_by_all_from();
    if (first < summed_from_)
        return sum_from(first);
    auto arrived = take_arrived();
    if (!arrived)
        return fail(arrived.failure().in("summing over replicas"));
    if (!arrived->empty())
        return decode(std::move(*arrived));
    const bool is_all_here =
        std::ranges::all_of(of_owners_, [](const owner_sums& o) { return o.decoded_from == 0; });
    if (!is_all_here || !is_rest_done())
        return;
    for (std::uint32_t r = 0; r < layout_.ranks(); ++r)
        parts_.erase({current_reduction()->id, r});
    finish_all(std::move(sums_));
}

std::size_t block_reducer::submitted_by_all_from() const {
    std::size_t first = 0;
    for (std::uint32_t r = 0; r < layout_.ranks(); ++r) {
        const auto part = parts_.find({current_reduction()->id, r});
        first = std::max(first, part == parts_.end() ? own().size() : part->second.from());
    }
    return first;
}

void block_reducer::sum_from(std::size_t first) {
    std::vector<payloads_to_sum> blocks;
    std::size_t elements = 0;
    for (std::size_t i = first; i < summed_from_; ++i) {
        payloads_to_sum b{own()[i].shape, options().codec, {}};
        for (std::uint32_t r = 0; r < layout_.ranks(); ++r)
            if (payload_arrivals& part = parts_.at({current_reduction()->id, r}); !part.has_zeros())
                b.payloads.push_back(part.let_go(i));
        elements += (b.payloads.size() + 1) * b.shape.elements();
        blocks.push_back(std::move(b));
    }
    summed_from_ = first;
    auto encoded = std::make_shared<std::vector<tensor>>();
    submit(
        proto::ENCODE_WORK->cStr(), elements,
        [encoded, first, blocks = std::move(blocks),
         encoder = encoder_](compute_context& context) -> result<void> {
            std::vector<tensor> sums;
            for (const payloads_to_sum& b : blocks) {
                auto sum = b.sum(context, 1);
                if (!sum)
                    return sum.failure();
                sums.push_back(std::move(*sum));
            }
            auto payloads = encoder->encode(context, first, sums, 0);
            if (!payloads)
                return payloads.failure();
            *encoded = std::move(*payloads);
            return {};
        },
        [this, encoded, first] { send_sums(first, *encoded); });
}

void block_reducer::send_sums(std::size_t first, std::span<const tensor> payloads) {
    for (std::uint32_t r = 0; r < layout_.ranks(); ++r)
        if (r != rank())
            send_payloads(r, 1, first, payloads);
    if (auto kept = keep_sums(rank(), first, payloads); !kept)
        return fail(kept.failure().in("summing over replicas"));
    step();
}

// Takes the encoded sums that have arrived and are not decoded yet.
result<std::vector<block_reducer::arrived_sum>> block_reducer::take_arrived() {
    std::vector<arrived_sum> arrived;
    for (std::uint32_t owner = 0; owner < layout_.ranks(); ++owner) {
        owner_sums& of_owner = of_owners_[owner];
        for (; of_owner.decoded_from > of_owner.encoded.from(); --of_owner.decoded_from) {
            const std::size_t number = of_owner.decoded_from - 1;
            const owned_block& block = layout_.owned[owner][number];
            tensor& sum = sums_[block.tensor];
            if (!sum) {
                auto made = tensor::allocate(options().compute->memory(), data_type::float32,
                                             options().shapes[packed()[block.tensor]]);
                if (!made)
                    return made.failure();
                sum = std::move(*made);
            }
            arrived.push_back({of_owner.encoded.let_go(number), elements_of(sum, block)});
        }
    }
    return arrived;
}

void block_reducer::decode(std::vector<arrived_sum> arrived) {
    std::size_t elements = 0;
    for (const arrived_sum& a : arrived)
        elements += a.output.elements();
    submit(
        proto::SUM_WORK->cStr(), elements,
        [arrived = std::move(arrived), how = layout_.sums,
         factor = current_reduction()->scale](compute_context& context) mutable -> result<void> {
            for (arrived_sum& a : arrived)
                if (auto done = how->decode(context, a.payload, factor, nullptr, a.output); !done)
                    return done;
            return {};
        },
        [this] { step(); });
}

} // namespace troupe
