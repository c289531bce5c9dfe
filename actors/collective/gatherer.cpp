#include "actors/collective/gatherer.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"
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

result<std::vector<tensor>> sum_of(compute_context& context, const gatherer_options& options,
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

gatherer::gatherer(actor_context& context, gatherer_options options)
    : actor{context}, options_{std::move(options)} {
    on<proto::JoinReduction>(&gatherer::join);
    on<proto::Reduce>(&gatherer::reduce);
    on<proto::ReduceChunk>(&gatherer::chunk);
    on<proto::WorkDone>(&gatherer::work_done);
}

void gatherer::join(proto::JoinReduction::Reader body, const frame& f) {
    const auto members = body.getMembers();
    if (stage_ || body.getRank() >= members.size())
        return reject("this reducer has its peers already, or the stage is none of them");
    stage_ = f.from();
    rank_ = body.getRank();
    for (const auto member : members)
        members_.push_back(read_address(member));
    const auto gradients = options_.shapes.begin() + static_cast<std::ptrdiff_t>(options_.averages);
    encoder_ = std::make_shared<gradient_encoder>(
        gradient_encoder::options{.how = options_.codec,
                                  .shapes = {gradients, options_.shapes.end()},
                                  .seed = options_.seed,
                                  .replica = rank_,
                                  .replicas = members.size()});
}

// ---- what the stage has ---------------------------------------------------------------------------------------------

void gatherer::reduce(proto::Reduce::Reader body, const frame& f) {
    if (!stage_ || f.from() != stage_)
        return reject("the sender is not the stage of this reducer");
    const std::uint64_t due = current_ ? current_->id : next_id_;
    if (body.getReduction() != due || (current_ && current_->is_whole))
        return fail({errc::protocol, "reduction " + std::to_string(body.getReduction()) +
                                         " is asked for where " + std::to_string(next_id_) +
                                         " is due"});
    const bool is_new = !current_;
    if (is_new)
        current_.emplace(running{next_id_++,
                                 minibatch_id{f.envelope().getMinibatch()},
                                 body.getScale(),
                                 body.getEpoch(),
                                 {}});
    if (f.tensors().empty() && is_new && body.getFirst() == 0) {
        current_->is_whole = true;
        return send_parts({});
    }
    if (auto fits = give(f, body.getFirst()); !fits)
        return fail(fits.failure());
    if (current_->is_whole)
        encode();
}

// From the last to the first.
result<void> gatherer::give(const frame& f, std::size_t first) {
    auto& own = current_->own;
    const auto given = f.tensors();
    bool fits = !given.empty() && first + given.size() + own.size() == options_.shapes.size();
    for (std::size_t i = 0; fits && i < given.size(); ++i)
        fits =
            given[i].type() == data_type::float32 && given[i].shape() == options_.shapes[first + i];
    if (!fits)
        return error{errc::protocol,
                     "what is to be summed has not the shapes of the stage's weights"};
    own.insert(own.begin(), given.begin(), given.end());
    current_->is_whole = first == 0;
    return {};
}

void gatherer::encode() {
    auto parts = std::make_shared<std::vector<tensor>>(std::move(current_->own));
    submit(
        proto::ENCODE_WORK->cStr(),
        [parts, encoder = encoder_, averages = options_.averages,
         epoch = current_->epoch](compute_context& context) -> result<void> {
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
    for (std::uint32_t r = 0; r < members_.size(); ++r) {
        if (r == rank_)
            continue;
        frame_builder<proto::ReduceChunk> chunk;
        chunk.body().setReduction(current_->id);
        chunk.envelope().setMinibatch(current_->minibatch.value());
        for (const tensor& part : own)
            chunk.attach(part);
        send(members_[r], std::move(chunk));
    }
    parts_[{current_->id, rank_}] = std::move(own);
    sum_when_all_are_here();
}

// ---- the sum --------------------------------------------------------------------------------------------------------

void gatherer::sum_when_all_are_here() {
    if (!current_ || then_)
        return;
    for (std::uint32_t r = 0; r < members_.size(); ++r)
        if (!parts_.contains({current_->id, r}))
            return;
    current_->is_summing = true;
    rank_parts parts;
    for (std::uint32_t r = 0; r < members_.size(); ++r)
        if (auto part = parts_.extract({current_->id, r}); !part.mapped().empty())
            parts.push_back(std::move(part.mapped()));
    auto sums = std::make_shared<std::vector<tensor>>();
    submit(
        proto::SUM_WORK->cStr(),
        [sums, options = options_, parts = std::move(parts),
         factor = current_->scale](compute_context& context) -> result<void> {
            auto made = sum_of(context, options, parts, factor);
            if (!made)
                return made.failure();
            *sums = std::move(*made);
            return {};
        },
        [this, sums] { finish(std::move(*sums)); });
}

void gatherer::finish(std::vector<tensor> sums) {
    frame_builder<proto::Reduced> reduced;
    reduced.body().setReduction(current_->id);
    reduced.envelope().setMinibatch(current_->minibatch.value());
    current_.reset();
    for (tensor& sum : sums)
        reduced.attach(std::move(sum));
    send(stage_, std::move(reduced));
}

// ---- what arrives ---------------------------------------------------------------------------------------------------

void gatherer::chunk(proto::ReduceChunk::Reader body, const frame& f) {
    const auto member = std::ranges::find(members_, f.from());
    if (member == members_.end())
        return reject("the sender is no reducer of this stage in this run");
    const auto rank = static_cast<std::uint32_t>(member - members_.begin());
    if (auto fits = check_chunk(body, rank, f); !fits)
        return fail(fits.failure().in("reduction " + std::to_string(body.getReduction())));
    parts_[{body.getReduction(), rank}] = {f.tensors().begin(), f.tensors().end()};
    sum_when_all_are_here();
}

// A peer can be one reduction ahead, as it needs what this rank has still to send for the one after that.
result<void> gatherer::check_chunk(proto::ReduceChunk::Reader body, std::uint32_t rank,
                                   const frame& f) const {
    const std::uint64_t oldest = current_ ? current_->id : next_id_;
    if (body.getReduction() < oldest || body.getReduction() > next_id_)
        return error{errc::protocol, "arrives where " + std::to_string(oldest) + " is due"};
    const bool is_summing = current_ && current_->is_summing && body.getReduction() == current_->id;
    if (rank == rank_ || is_summing || parts_.contains({body.getReduction(), rank}))
        return error{errc::protocol, "comes from a rank that sends nothing then, or twice"};
    const auto parts = f.tensors();
    if (parts.empty())
        return {};
    if (parts.size() != options_.shapes.size())
        return error{errc::protocol, "has not the tensors of the stage's weights"};
    for (std::size_t t = 0; t < parts.size(); ++t) {
        const tensor_shape& shape = options_.shapes[t];
        if (t >= options_.averages) {
            if (auto fits = options_.codec->check(shape, parts[t]); !fits)
                return fits;
        } else if (parts[t].type() != data_type::float32 || parts[t].shape() != shape) {
            return error{errc::protocol, "has not the stage's running averages"};
        }
    }
    return {};
}

// ---- the device -----------------------------------------------------------------------------------------------------

void gatherer::submit(const char* label, device_work work, std::function<void()> then) {
    TROUPE_CHECK(!then_, "one piece of work at a time");
    label_ = label;
    then_ = std::move(then);
    device_task task;
    for (const tensor_shape& shape : options_.shapes)
        task.cost_hint += static_cast<double>(shape.elements());
    task.work = std::move(work);
    task.done = completion_to(self_handle(), ++ticket_);
    options_.compute->submit(std::move(task));
}

void gatherer::work_done(proto::WorkDone::Reader body, const frame& f) {
    TROUPE_CHECK(then_ && body.getTicket() == ticket_, "one piece of work at a time");
    const work_span span = span_of(body, f);
    trace_compute(runtime().trace().label(label_), span.began, span.ended, current_->minibatch,
                  weight_version{none}, options_.compute->memory().statistics().bytes_reserved);
    const auto then = std::exchange(then_, nullptr);
    if (body.hasFailure())
        return fail(read_failure(body.getFailure()).in("summing over replicas"));
    then();
}

// Whoever is gone has told its own stage.
void gatherer::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (!body.getGone() && std::ranges::count(members_, f.from()) > 0)
        fail(read_failure(body).in("a reducer refused a message"));
}

} // namespace troupe
