#include "actors/collective/low_rank_reducer.hpp"

#include <algorithm>

namespace troupe {

namespace {

result<tensor> zeros_of(memory_pool& memory, const tensor_shape& shape) {
    auto zeros = tensor::allocate(memory, data_type::float32, shape);
    if (zeros)
        std::ranges::fill(zeros->mutable_values<float>(), 0.f);
    return zeros;
}

// A rank's operands of the first sum: P of each tensor, or the tensor; zeros if the rank has no gradients.
result<std::vector<tensor>> first_sums(compute_context& context, const low_rank_layout& layout,
                                       const low_rank_factors& how, std::span<const tensor> own,
                                       std::span<std::vector<tensor>> state) {
    std::vector<tensor> list;
    for (std::size_t t = 0; t < layout.right_of.size(); ++t) {
        const tensor_shape& shape = layout.shapes[layout.rights + t];
        auto part = own.empty()           ? zeros_of(context.memory, shape)
                    : !layout.right_of[t] ? result<tensor>{own[t]}
                                          : how.left(context, own[t], state[t]);
        if (!part)
            return part.failure();
        list.push_back(std::move(*part));
    }
    return list;
}

} // namespace

low_rank_reducer::low_rank_reducer(actor_context& context, compressed_options options)
    : compressed_reducer{context, std::move(options)} {}

void low_rank_reducer::joined() {
    layout_ =
        low_rank_layout::of(*options().codec->low_rank(), options().shapes, options().averages);
    const rank_nodes ranks = nodes_of(members());
    rounds_.emplace(
        reduction_plan::make(
            layout_.shapes,
            choose(proto::AllReduceAlgorithm::AUTO, ranks, layout_.elements_of_step()), rank(),
            ranks, message_elements_default, layout_.rights),
        [this](std::uint32_t to, std::uint32_t slice, std::uint32_t round, tensor part) {
            send_chunk(to, slice, round, {&part, 1});
        },
        [this](const auto& add) { return timed_sum(add); });
}

// ---- all P, and tensors that are not compressed ---------------------------------------------------------------------

void low_rank_reducer::accept(std::size_t first, std::vector<tensor> submitted) {
    if (auto own = collect(first, std::move(submitted)))
        begin(std::move(*own));
}

void low_rank_reducer::begin(std::vector<tensor> own) {
    has_own_ = !own.empty();
    are_rights_submitted_ = layout_.rights == 0;
    auto first = std::make_shared<std::vector<tensor>>();
    submit(
        proto::ENCODE_WORK->cStr(), elements(),
        [first, own = std::move(own), layout = layout_, state = state_, options = options(),
         replica = rank()](compute_context& context) -> result<void> {
            for (std::size_t t = state->size(); t < options.shapes.size(); ++t) {
                std::vector<tensor> kept;
                if (layout.right_of[t]) {
                    const auto number = static_cast<std::uint32_t>(t - options.averages);
                    auto made = options.codec->first_state(
                        context.memory, options.shapes[t],
                        {.seed = options.seed, .replica = replica, .tensor = number});
                    if (!made)
                        return made.failure();
                    kept = std::move(*made);
                }
                state->push_back(std::move(kept));
            }
            auto made = first_sums(context, layout, *options.codec->low_rank(), own, *state);
            if (!made)
                return made.failure();
            *first = std::move(*made);
            return {};
        },
        [this, first] {
            rounds_->begin(current_reduction()->id, options().compute->memory(),
                           current_reduction()->scale);
            rounds_->numbers().submit(layout_.rights, std::move(*first));
            go_on();
        });
}

result<void> low_rank_reducer::arrive(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                      const frame& f) {
    if (auto taken = rounds_->arrive(body, rank, f.tensors()); !taken)
        return taken;
    if (rounds_->is_under_way() && !is_busy())
        step();
    return {};
}

void low_rank_reducer::go_on() {
    if (auto done = rounds_->go_on(); !done)
        return fail(done.failure().in("summing over replicas"));
    step();
}

void low_rank_reducer::step() {
    if (!are_rights_submitted_ && rounds_->is_early_done())
        make_rights();
    else if (rounds_->is_done())
        multiply();
}

// ---- all Q, and the products ----------------------------------------------------------------------------------------

void low_rank_reducer::make_rights() {
    std::vector<tensor> lefts; // sums of P, by number of Q
    for (std::size_t t = 0; t < layout_.right_of.size(); ++t)
        if (layout_.right_of[t]) {
            auto sum = rounds_->numbers().sum(layout_.rights + t);
            if (!sum)
                return fail(sum.failure().in("summing over replicas"));
            lefts.push_back(std::move(*sum));
        }
    auto rights = std::make_shared<std::vector<tensor>>();
    bases_ = std::make_shared<std::vector<tensor>>();
    submit(
        proto::ENCODE_WORK->cStr(), elements(),
        [rights, bases = bases_, lefts = std::move(lefts), layout = layout_, state = state_,
         how = options().codec, has_own = has_own_](compute_context& context) -> result<void> {
            for (std::size_t t = 0; t < layout.right_of.size(); ++t) {
                if (!layout.right_of[t])
                    continue;
                const std::size_t q = *layout.right_of[t];
                auto basis = how->low_rank()->basis(context, lefts[q]);
                if (!basis)
                    return basis.failure();
                auto right = has_own ? how->low_rank()->right(context, *basis, (*state)[t])
                                     : zeros_of(context.memory, layout.shapes[q]);
                if (!right)
                    return right.failure();
                bases->push_back(std::move(*basis));
                rights->push_back(std::move(*right));
            }
            return {};
        },
        [this, rights] {
            are_rights_submitted_ = true;
            rounds_->numbers().submit(0, std::move(*rights));
            go_on();
        });
}

void low_rank_reducer::multiply() {
    auto summed = rounds_->end();
    if (!summed)
        return fail(summed.failure().in("summing over replicas"));
    auto sums = std::make_shared<std::vector<tensor>>();
    submit(
        proto::SUM_WORK->cStr(), elements(),
        [sums, bases = std::exchange(bases_, nullptr), summed = std::move(*summed),
         layout = layout_, state = state_,
         options = options()](compute_context& context) -> result<void> {
            for (std::size_t t = 0; t < layout.right_of.size(); ++t) {
                if (!layout.right_of[t]) {
                    sums->push_back(summed[layout.rights + t]);
                    continue;
                }
                const std::size_t q = *layout.right_of[t];
                auto sum = tensor::allocate(context.memory, data_type::float32, options.shapes[t]);
                if (!sum)
                    return sum.failure();
                if (auto done = options.codec->low_rank()->product(context, (*bases)[q], summed[q],
                                                                   (*state)[t], *sum);
                    !done)
                    return done;
                sums->push_back(std::move(*sum));
            }
            return {};
        },
        [this, sums] { finish(std::move(*sums)); });
}

} // namespace troupe
