#include "actors/collective/gatherer.hpp"

#include <algorithm>

#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

struct gathered_tensor {
    tensor_shape shape;
    payload_form_ptr form;
    std::vector<tensor> payloads; // of the ranks that have some, in their order
};

result<tensor> sum_of(compute_context& context, const gathered_tensor& t, float factor) {
    auto sum = tensor::allocate(context.memory, data_type::float32, t.shape);
    if (!sum)
        return sum;
    for (const tensor& payload : t.payloads) {
        const tensor* const addend = &payload == &t.payloads.front() ? nullptr : &*sum;
        if (auto added = t.form->decode(context, payload, 1, addend, *sum); !added)
            return added.failure();
    }
    const auto done = t.payloads.empty() ? context.ops.run(fill{*sum, 0})
                      : factor != 1      ? context.ops.run(scale{*sum, factor, *sum})
                                         : result<void>{};
    return done ? std::move(sum) : result<tensor>{done.failure()};
}

// The first of these numbers that is not below `least`.
std::size_t place_of(const std::vector<std::size_t>& numbers, std::size_t least) {
    return static_cast<std::size_t>(std::ranges::lower_bound(numbers, least) - numbers.begin());
}

} // namespace

gatherer::gatherer(actor_context& context, compressed_options options)
    : compressed_reducer{context, std::move(options)} {
    for (std::size_t t = 0; t < this->options().shapes.size(); ++t)
        (this->options().forms[t] ? gathered_ : dense_).push_back(t);
    TROUPE_CHECK(!gathered_.empty(), "a gatherer has something to gather");
}

void gatherer::joined() {
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

// ---- what the stage has ---------------------------------------------------------------------------------------------

void gatherer::take(std::size_t first, std::vector<tensor> given) {
    if (!rounds_->is_under_way()) {
        rounds_->begin(current_reduction()->id, options().compute->memory(),
                       current_reduction()->scale);
        sums_.assign(gathered_.size(), {});
        summed_from_ = gathered_.size();
    }
    auto done = give(first, std::move(given));
    if (done)
        done = rounds_->go_on();
    if (!done)
        return fail(done.failure().in("summing over replicas"));
    step();
}

result<void> gatherer::give(std::size_t first, std::vector<tensor> given) {
    std::vector<tensor> dense, payloads;
    for (std::size_t i = 0; i < given.size(); ++i)
        (options().forms[first + i] ? payloads : dense).push_back(std::move(given[i]));
    if (given.empty()) {
        if (auto zeros = rounds_->numbers().give_zeros(); !zeros)
            return zeros;
    } else if (!dense.empty()) {
        rounds_->numbers().give(place_of(dense_, first), std::move(dense));
    }
    if (payloads.empty() && !given.empty())
        return {};
    const std::size_t place = place_of(gathered_, first);
    for (std::uint32_t r = 0; r < members().size(); ++r)
        if (r != rank())
            send_chunk(r, static_cast<std::uint32_t>(rounds_->slices() + place), 0, payloads);
    return keep({current_reduction()->id, rank()}, place, payloads);
}

// ---- what arrives ---------------------------------------------------------------------------------------------------

result<void> gatherer::arrive(proto::ReduceChunk::Reader body, std::uint32_t rank, const frame& f) {
    const std::size_t slices = rounds_->slices();
    auto taken = [&]() -> result<void> {
        if (body.getSlice() < slices)
            return rounds_->arrive(body, rank, f.tensors());
        if (rank == this->rank() || body.getRound() != 0)
            return error{errc::protocol, "comes from a rank that sends nothing then, or twice"};
        return keep({body.getReduction(), rank}, body.getSlice() - slices, f.tensors());
    }();
    if (taken)
        step();
    return taken;
}

result<void> gatherer::keep(part_key whose, std::size_t first, std::span<const tensor> payloads) {
    rank_part& part =
        parts_.try_emplace(whose, std::vector<tensor>(gathered_.size()), gathered_.size())
            .first->second;
    const bool are_zeros = payloads.empty() && first == 0 && part.from == gathered_.size();
    if (!are_zeros && (payloads.empty() || first + payloads.size() != part.from))
        return error{errc::protocol, "comes from a rank that sends nothing then, or twice"};
    for (std::size_t i = 0; i < payloads.size(); ++i)
        if (auto fits = check_tensor(gathered_[first + i], payloads[i]); !fits)
            return fits;
    std::ranges::copy(payloads, part.payloads.begin() + static_cast<std::ptrdiff_t>(first));
    part.from = first;
    part.has_zeros = are_zeros;
    return {};
}

// ---- sums -----------------------------------------------------------------------------------------------------------

void gatherer::step() {
    if (!current_reduction() || is_busy())
        return;
    std::size_t first = 0; // of what all have given
    for (std::uint32_t r = 0; r < members().size(); ++r) {
        const auto part = parts_.find({current_reduction()->id, r});
        first = std::max(first, part == parts_.end() ? gathered_.size() : part->second.from);
    }
    if (first < summed_from_)
        sum_from(first);
    else if (summed_from_ == 0 && rounds_->is_done())
        finish_all();
}

void gatherer::sum_from(std::size_t first) {
    std::vector<gathered_tensor> tensors;
    std::size_t elements = 0;
    for (std::size_t i = first; i < summed_from_; ++i) {
        gathered_tensor t{options().shapes[gathered_[i]], options().forms[gathered_[i]], {}};
        for (std::uint32_t r = 0; r < members().size(); ++r) {
            rank_part& part = parts_.at({current_reduction()->id, r});
            if (!part.has_zeros)
                t.payloads.push_back(std::exchange(part.payloads[i], {}));
        }
        elements += t.payloads.size() * t.shape.elements();
        tensors.push_back(std::move(t));
    }
    summed_from_ = first;
    auto sums = std::make_shared<std::vector<tensor>>();
    submit(
        proto::SUM_WORK->cStr(), elements,
        [sums, tensors = std::move(tensors),
         factor = current_reduction()->scale](compute_context& context) -> result<void> {
            for (const gathered_tensor& t : tensors) {
                auto sum = sum_of(context, t, factor);
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

void gatherer::finish_all() {
    auto dense = rounds_->end();
    if (!dense)
        return fail(dense.failure().in("summing over replicas"));
    for (std::uint32_t r = 0; r < members().size(); ++r)
        parts_.erase({current_reduction()->id, r});
    std::vector<tensor> all(options().shapes.size());
    for (std::size_t i = 0; i < dense_.size(); ++i)
        all[dense_[i]] = std::move((*dense)[i]);
    for (std::size_t i = 0; i < gathered_.size(); ++i)
        all[gathered_[i]] = std::move(sums_[i]);
    finish(std::move(all));
}

} // namespace troupe
