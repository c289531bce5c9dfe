#include "actors/collective/compressed_reducer.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"

namespace troupe {

compressed_reducer::compressed_reducer(actor_context& context, compressed_options options)
    : actor{context}, options_{std::move(options)}, work_{*this, [this](const std::string&,
                                                                        const error& why) {
                                                              fail(why.in("summing over replicas"));
                                                          }} {
    on<proto::JoinReduction>(&compressed_reducer::join);
    on<proto::Reduce>(&compressed_reducer::reduce);
    on<proto::ReduceChunk>(&compressed_reducer::chunk);
}

void compressed_reducer::join(proto::JoinReduction::Reader body, const frame& f) {
    const auto members = body.getMembers();
    if (stage_ || body.getRank() >= members.size())
        return reject(
            "this reducer knows the other ranks already, or the stage is none of the ranks");
    stage_ = f.from();
    rank_ = body.getRank();
    for (const auto member : members)
        members_.push_back(read_address(member));
    joined();
}

// ---- tensors of the stage -------------------------------------------------------------------------------------------

void compressed_reducer::reduce(proto::Reduce::Reader body, const frame& f) {
    if (!stage_ || f.from() != stage_)
        return reject("the sender is not the stage of this reducer");
    const bool is_whole = current_ && current_->submitted_from == 0;
    const std::uint64_t due = current_ && !is_whole ? current_->id : next_id_;
    if (is_whole || body.getReduction() != due)
        return fail({errc::protocol, "reduction " + std::to_string(body.getReduction()) +
                                         " is asked for where " + std::to_string(due) + " is due"});
    if (!current_)
        current_.emplace(running{next_id_++,
                                 minibatch_id{f.envelope().getWork()},
                                 body.getScale(),
                                 options_.shapes.size(),
                                 {}});
    if (auto fits = check_submitted(body.getFirst(), f.tensors()); !fits)
        return fail(fits.failure());
    current_->submitted_from = body.getFirst();
    accept(body.getFirst(), {f.tensors().begin(), f.tensors().end()});
}

result<void> compressed_reducer::check_submitted(std::size_t first,
                                                 std::span<const tensor> submitted) const {
    const std::size_t end = current_->submitted_from;
    const bool are_zeros = submitted.empty() && first == 0 && end == options_.shapes.size();
    if (!are_zeros && (submitted.empty() || first + submitted.size() != end))
        return error{errc::protocol,
                     "what is to be summed comes from the last tensor to the first"};
    for (std::size_t i = 0; i < submitted.size(); ++i)
        if (auto fits = check_tensor(first + i, submitted[i]); !fits)
            return fits.failure().in("what is to be summed");
    return {};
}

result<void> compressed_reducer::check_tensor(std::size_t number, const tensor& t) const {
    const tensor_shape& shape = options_.shapes[number];
    if (options_.forms[number])
        return options_.forms[number]->check(shape, t);
    if (t && t.type() == data_type::float32 && t.shape() == shape)
        return {};
    return error{errc::protocol, "a tensor has not the shape of the stage's weights"};
}

std::optional<std::vector<tensor>> compressed_reducer::collect(std::size_t first,
                                                               std::vector<tensor> submitted) {
    auto& own = current_->own;
    own.insert(own.begin(), std::move_iterator{submitted.begin()},
               std::move_iterator{submitted.end()});
    if (first > 0)
        return std::nullopt;
    return std::move(own);
}

void compressed_reducer::finish(std::vector<tensor> sums) {
    frame_builder<proto::Reduced> reduced;
    reduced.body().setReduction(current_->id);
    reduced.envelope().setWork(current_->minibatch.value());
    current_.reset();
    for (tensor& sum : sums)
        reduced.attach(std::move(sum));
    send(stage_, std::move(reduced));
}

// ---- other ranks ----------------------------------------------------------------------------------------------------

void compressed_reducer::send_chunk(std::uint32_t to, std::uint32_t slice, std::uint32_t round,
                                    std::span<const tensor> parts) {
    frame_builder<proto::ReduceChunk> chunk;
    chunk.body().setReduction(current_->id);
    chunk.body().setSlice(slice);
    chunk.body().setRound(round);
    chunk.envelope().setWork(current_->minibatch.value());
    for (const tensor& part : parts)
        chunk.attach(part);
    send(members_[to], std::move(chunk));
}

void compressed_reducer::chunk(proto::ReduceChunk::Reader body, const frame& f) {
    const auto member = std::ranges::find(members_, f.from());
    if (member == members_.end())
        return reject("the sender is no reducer of this stage in this run");
    auto taken = check_due(body.getReduction());
    if (taken)
        taken = arrive(body, static_cast<std::uint32_t>(member - members_.begin()), f);
    if (!taken)
        fail(taken.failure().in("reduction " + std::to_string(body.getReduction())));
}

// Another rank can be one reduction ahead: for the one after that it needs chunks that this rank has yet to send.
result<void> compressed_reducer::check_due(std::uint64_t reduction) const {
    const std::uint64_t oldest = current_ ? current_->id : next_id_;
    if (reduction < oldest || reduction > next_id_)
        return error{errc::protocol, "arrives where " + std::to_string(oldest) + " is due"};
    return {};
}

// A reducer that is gone has told its own stage.
void compressed_reducer::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (!body.getGone() && std::ranges::count(members_, f.from()) > 0)
        fail(read_failure(body).in("a reducer refused a message"));
}

// ---- the device -----------------------------------------------------------------------------------------------------

std::size_t compressed_reducer::elements() const noexcept {
    std::size_t sum = 0;
    for (const tensor_shape& shape : options_.shapes)
        sum += shape.elements();
    return sum;
}

void compressed_reducer::submit(const char* label, std::size_t elements, device_work work,
                                std::function<void()> then) {
    TROUPE_CHECK(work_.is_idle(), "one piece of work at a time");
    work_.submit(*options_.compute, {.label = label,
                                     .number = current_->minibatch,
                                     .cost = static_cast<double>(elements),
                                     .work = std::move(work),
                                     .then = std::move(then)});
}

result<void> compressed_reducer::timed_sum(const std::function<result<void>()>& add) {
    const time_point began = now();
    auto added = add();
    trace_compute(runtime().trace().label(proto::SUM_WORK->cStr()), began, now(),
                  current_->minibatch, weight_version{none},
                  options_.compute->memory().statistics().bytes_reserved);
    return added;
}

} // namespace troupe
