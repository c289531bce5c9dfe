#include "actors/collective/reducer.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"

namespace troupe {

namespace {

std::string name_of(proto::ReduceChunk::Reader body) {
    return "reduction " + std::to_string(body.getReduction()) + " slice " +
           std::to_string(body.getSlice()) + " round " + std::to_string(body.getRound());
}

// The same at both ends. Counts may wrap: only of two reductions in a row are parts under way.
place_name place_of(actor_address receiver, std::uint64_t reduction, std::uint32_t slice,
                    std::uint32_t round) {
    return {receiver.actor, reduction << 48 | std::uint64_t{slice & 0xffffffu} << 24 | round};
}

} // namespace

reducer::reducer(actor_context& context, reducer_options options)
    : actor{context}, options_{std::move(options)} {
    on<proto::JoinReduction>(&reducer::join);
    on<proto::Reduce>(&reducer::reduce);
    on<proto::Exchange>(&reducer::exchange);
    on<proto::ReduceChunk>(&reducer::chunk);
}

void reducer::join(proto::JoinReduction::Reader body, const frame& f) {
    const auto members = body.getMembers();
    if (stage_ || body.getRank() >= members.size())
        return reject(
            "this reducer knows the other ranks already, or the stage is none of the ranks");
    stage_ = f.from();
    for (const auto member : members)
        members_.push_back(read_address(member));
    const rank_nodes ranks = nodes_of(members_);
    std::size_t bytes = 0;
    for (std::size_t t = 0; t < options_.shapes.size(); ++t)
        bytes += (t < options_.averages ? part_numbers{} : options_.numbers)
                     .bytes(options_.shapes[t].elements());
    rounds_.emplace(
        reduction_plan::make(options_.shapes,
                             choose(options_.algorithm, ranks, bytes / sizeof(float)),
                             body.getRank(), ranks,
                             message_elements_default * sizeof(float) / options_.numbers.bytes(1),
                             options_.averages, options_.numbers),
        [this](std::uint32_t to, std::uint32_t slice, std::uint32_t round, tensor part) {
            send_part(to, slice, round, std::move(part));
        },
        [this](const std::function<result<void>()>& add) { return timed(add); },
        [this](std::uint32_t from, std::uint32_t slice, std::uint32_t round, tensor place) {
            return expect_part(from, slice, round, std::move(place));
        });
}

// ---- tensors of the stage -------------------------------------------------------------------------------------------

void reducer::reduce(proto::Reduce::Reader body, const frame& f) {
    if (!stage_ || f.from() != stage_)
        return reject("the sender is not the stage of this reducer");
    const bool is_whole = current_ && rounds_->numbers().submitted_from() == 0;
    const std::uint64_t due = current_ && !is_whole ? current_->id : next_id_;
    if (is_whole || body.getReduction() != due)
        return fail({errc::protocol, "reduction " + std::to_string(body.getReduction()) +
                                         " is asked for where " + std::to_string(due) + " is due"});
    if (!current_)
        begin(f, body.getScale());
    accept(body.getFirst(), f);
}

// Local SGD: begins the mean of all replicas' weights.
void reducer::exchange(proto::Exchange::Reader, const frame& f) {
    if (!stage_ || f.from() != stage_)
        return reject("the sender is not the stage of this reducer");
    if (current_)
        return fail({errc::protocol, "a mean is asked for before what was asked last has ended"});
    begin(f, 1.0f / static_cast<float>(members_.size()));
    current_->of_weights = true;
    accept(0, f);
}

void reducer::begin(const frame& f, float scale) {
    current_.emplace(running{next_id_++, minibatch_id{f.envelope().getWork()}});
    rounds_->begin(current_->id, options_.compute->memory(), scale);
}

void reducer::accept(std::size_t first, const frame& f) {
    if (auto fits = submit(first, f); !fits)
        return fail(fits.failure());
    if (auto done = rounds_->go_on(); !done)
        return fail(done.failure().in("summing over replicas"));
    if (rounds_->is_done())
        finish();
}

result<void> reducer::submit(std::size_t first, const frame& f) {
    reduction& numbers = rounds_->numbers();
    std::vector<tensor> inputs{f.tensors().begin(), f.tensors().end()};
    const bool is_new = numbers.submitted_from() == options_.shapes.size();
    if (inputs.empty() && is_new && first == 0)
        return numbers.submit_zeros();
    const auto is_due = [&](const tensor& t) {
        const std::size_t number = first + static_cast<std::size_t>(&t - &inputs[0]);
        const tensor_shape& shape = options_.shapes[number];
        return number >= options_.averages && options_.numbers.is_half()
                   ? options_.numbers.is_row(t, shape.elements())
                   : t.type() == data_type::float32 && t.shape() == shape;
    };
    if (inputs.empty() || first + inputs.size() != numbers.submitted_from() ||
        !std::ranges::all_of(inputs, is_due))
        return error{errc::protocol,
                     "what is to be summed has not the shapes of the stage's weights"};
    numbers.submit(first, std::move(inputs));
    return {};
}

// ---- the rounds -----------------------------------------------------------------------------------------------------

void reducer::send_part(std::uint32_t to, std::uint32_t slice, std::uint32_t round, tensor part) {
    frame_builder<proto::ReduceChunk> chunk;
    chunk.body().setReduction(current_->id);
    chunk.body().setSlice(slice);
    chunk.body().setRound(round);
    chunk.envelope().setWork(current_->minibatch.value());
    chunk.attach(std::move(part));
    chunk.name_place(place_of(members_[to], current_->id, slice, round));
    send(members_[to], std::move(chunk));
}

bool reducer::expect_part(std::uint32_t from, std::uint32_t slice, std::uint32_t round,
                          tensor place) {
    return runtime().expect(members_[from].node,
                            {place_of(self(), current_->id, slice, round), std::move(place)});
}

// A reduction that ends with its sums has used all places. One that is given up ends the reducer.
void reducer::on_end() {
    for (const actor_address& member : members_)
        if (member.node != self().node)
            runtime().forget(member.node, self().actor);
}

result<void> reducer::timed(const std::function<result<void>()>& add) {
    const time_point began = now();
    auto added = add();
    trace_compute(runtime().trace().label(proto::SUM_WORK->cStr()), began, now(),
                  current_->minibatch, weight_version{none},
                  options_.compute->memory().statistics().bytes_reserved);
    return added;
}

void reducer::finish() {
    auto sums = rounds_->end();
    if (!sums)
        return fail(sums.failure().in("summing over replicas"));
    const running done = *current_;
    current_.reset();
    const auto answer = [&](auto message) {
        message.envelope().setWork(done.minibatch.value());
        for (tensor& sum : *sums)
            message.attach(std::move(sum));
        send(stage_, std::move(message));
    };
    if (done.of_weights)
        return answer(frame_builder<proto::Exchanged>{});
    frame_builder<proto::Reduced> reduced;
    reduced.body().setReduction(done.id);
    answer(std::move(reduced));
}

// ---- arrivals -------------------------------------------------------------------------------------------------------

// Another rank can be one reduction ahead: for the one after that it needs chunks that this rank has yet to send.
void reducer::chunk(proto::ReduceChunk::Reader body, const frame& f) {
    const auto member = std::ranges::find(members_, f.from());
    if (member == members_.end())
        return reject("the sender is no reducer of this stage in this run");
    const std::uint64_t oldest = current_ ? current_->id : next_id_;
    if (body.getReduction() < oldest || body.getReduction() > next_id_)
        return fail(error{errc::protocol, "arrives where " + std::to_string(oldest) + " is due"}.in(
            name_of(body)));
    const auto from = static_cast<std::uint32_t>(member - members_.begin());
    if (auto taken = rounds_->arrive(body, from, f.tensors()); !taken)
        return fail(taken.failure().in(name_of(body)));
    if (current_ && rounds_->is_done())
        finish();
}

// A reducer that is gone has told its own stage.
void reducer::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (!body.getGone() && std::ranges::count(members_, f.from()) > 0)
        fail(read_failure(body).in("a reducer refused a message"));
}

} // namespace troupe
