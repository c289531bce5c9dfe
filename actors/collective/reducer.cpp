#include "actors/collective/reducer.hpp"

#include <algorithm>
#include <string>

#include "actors/messages.hpp"

namespace troupe {

namespace {

constexpr std::size_t slices_under_way = 4;

std::string name_of(proto::ReduceChunk::Reader body) {
    return "reduction " + std::to_string(body.getReduction()) + " slice " +
           std::to_string(body.getSlice()) + " round " + std::to_string(body.getRound());
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
        return reject("this reducer has its peers already, or the stage is none of them");
    stage_ = f.from();
    std::vector<std::uint32_t> nodes;
    for (const auto member : members) {
        members_.push_back(read_address(member));
        const auto same = std::ranges::find(members_, members_.back().node, &actor_address::node);
        nodes.push_back(static_cast<std::uint32_t>(same - members_.begin()));
    }
    const rank_nodes ranks{std::move(nodes)};
    std::size_t elements = 0;
    for (const tensor_shape& shape : options_.shapes)
        elements += shape.elements();
    plan_ = reduction_plan::make(options_.shapes, choose(options_.algorithm, ranks, elements),
                                 body.getRank(), ranks);
}

// ---- what the stage has ---------------------------------------------------------------------------------------------

void reducer::reduce(proto::Reduce::Reader body, const frame& f) {
    if (!stage_ || f.from() != stage_)
        return reject("the sender is not the stage of this reducer");
    const std::uint64_t due = current_ ? current_->id : next_id_;
    if (body.getReduction() != due || (current_ && current_->numbers.given_from() == 0))
        return fail({errc::protocol, "reduction " + std::to_string(body.getReduction()) +
                                         " is asked for where " + std::to_string(next_id_) +
                                         " is due"});
    if (!current_)
        begin(f, body.getScale());
    take(body.getFirst(), f);
}

// Of local SGD: the mean of all replicas' weights.
void reducer::exchange(proto::Exchange::Reader, const frame& f) {
    if (!stage_ || f.from() != stage_)
        return reject("the sender is not the stage of this reducer");
    if (current_)
        return fail({errc::protocol, "a mean is asked for before what was asked last has ended"});
    begin(f, 1.0f / static_cast<float>(members_.size()));
    current_->of_weights = true;
    take(0, f);
}

void reducer::begin(const frame& f, float scale) {
    current_.emplace(running{next_id_++,
                             minibatch_id{f.envelope().getMinibatch()},
                             {plan_, options_.compute->memory(), scale}});
}

void reducer::take(std::size_t first, const frame& f) {
    if (auto fits = give(first, f); !fits)
        return fail(fits.failure());
    go_on();
}

result<void> reducer::give(std::size_t first, const frame& f) {
    reduction& numbers = current_->numbers;
    std::vector<tensor> inputs{f.tensors().begin(), f.tensors().end()};
    const bool is_new = numbers.given_from() == options_.shapes.size();
    if (inputs.empty() && is_new && first == 0)
        return numbers.give_zeros();
    const auto is_due = [&](const tensor& t) {
        return t.type() == data_type::float32 &&
               t.shape() == options_.shapes[first + static_cast<std::size_t>(&t - &inputs[0])];
    };
    if (inputs.empty() || first + inputs.size() != numbers.given_from() ||
        !std::ranges::all_of(inputs, is_due))
        return error{errc::protocol,
                     "what is to be summed has not the shapes of the stage's weights"};
    numbers.give(first, std::move(inputs));
    return {};
}

// ---- the slices -----------------------------------------------------------------------------------------------------

// Begins slices in their order, as far as the stage has given what they need.
void reducer::go_on() {
    const std::size_t slices = plan_.slices.size();
    while (current_->started < slices &&
           current_->started - current_->finished < slices_under_way &&
           current_->numbers.can_start(current_->started))
        if (auto done = go_on(current_->started++); !done)
            return fail(done.failure().in("summing over replicas"));
    if (current_->finished == slices)
        finish();
}

// Takes a slice as far through its rounds as what has arrived allows.
result<void> reducer::go_on(std::size_t slice) {
    reduction& numbers = current_->numbers;
    while (const reduce_transfer* const t = numbers.next(slice)) {
        if (!numbers.has_sent(slice))
            if (auto sent = send_part(slice, *t); !sent)
                return sent;
        if (plan_.elements_of(slice, t->receives).count > 0) {
            const auto arrival =
                arrived_.extract({current_->id, static_cast<std::uint32_t>(slice), t->round});
            if (arrival.empty())
                return {}; // until it comes
            if (auto taken = take_part(slice, arrival.mapped()); !taken)
                return taken;
        }
        numbers.step(slice);
    }
    ++current_->finished;
    return {};
}

result<void> reducer::send_part(std::size_t slice, const reduce_transfer& t) {
    auto part = current_->numbers.part_to_send(slice);
    if (!part)
        return part.failure();
    if (!*part)
        return {};
    frame_builder<proto::ReduceChunk> chunk;
    chunk.body().setReduction(current_->id);
    chunk.body().setSlice(static_cast<std::uint32_t>(slice));
    chunk.body().setRound(t.round);
    chunk.envelope().setMinibatch(current_->minibatch.value());
    chunk.attach(std::move(*part));
    send(members_[t.to], std::move(chunk));
    return {};
}

result<void> reducer::take_part(std::size_t slice, const tensor& part) {
    const time_point began = now();
    auto taken = current_->numbers.take(slice, part);
    trace_compute(runtime().trace().label(proto::SUM_WORK->cStr()), began, now(),
                  current_->minibatch, weight_version{none},
                  options_.compute->memory().statistics().bytes_reserved);
    return taken;
}

void reducer::finish() {
    auto sums = std::move(current_->numbers).sums();
    if (!sums)
        return fail(sums.failure().in("summing over replicas"));
    const running done = std::move(*current_);
    current_.reset();
    const auto answer = [&](auto message) {
        message.envelope().setMinibatch(done.minibatch.value());
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

// ---- what arrives ---------------------------------------------------------------------------------------------------

void reducer::chunk(proto::ReduceChunk::Reader body, const frame& f) {
    if (std::ranges::count(members_, f.from()) == 0)
        return reject("the sender is no reducer of this stage in this run");
    if (auto fits = check_chunk(body, f); !fits)
        return fail(fits.failure().in(name_of(body)));
    arrived_.emplace(chunk_key{body.getReduction(), body.getSlice(), body.getRound()},
                     f.tensors()[0]);
    if (!current_ || body.getReduction() != current_->id || body.getSlice() >= current_->started)
        return;
    if (auto done = go_on(body.getSlice()); !done)
        return fail(done.failure().in("summing over replicas"));
    go_on();
}

// A peer can be one reduction ahead: for the one after that it needs what this rank has still to send. Nobody is ahead of
// a reduction that this rank has not begun.
result<void> reducer::check_chunk(proto::ReduceChunk::Reader body, const frame& f) const {
    const std::uint64_t oldest = current_ ? current_->id : next_id_;
    if (body.getReduction() < oldest || body.getReduction() > next_id_)
        return error{errc::protocol, "arrives where " + std::to_string(oldest) + " is due"};
    if (body.getSlice() >= plan_.slices.size())
        return error{errc::protocol, "there is no such slice"};
    auto begin = plan_.transfers.begin();
    if (current_ && body.getReduction() == current_->id) {
        const reduce_transfer* const next = current_->numbers.next(body.getSlice());
        begin = next ? begin + (next - plan_.transfers.data()) : plan_.transfers.end();
    }
    const auto due =
        std::ranges::find(begin, plan_.transfers.end(), body.getRound(), &reduce_transfer::round);
    const auto elements = [&] { return plan_.elements_of(body.getSlice(), due->receives).count; };
    if (due == plan_.transfers.end() || elements() == 0 || members_[due->from] != f.from() ||
        arrived_.contains({body.getReduction(), body.getSlice(), body.getRound()}))
        return error{errc::protocol, "comes from a rank that sends nothing then, or twice"};
    const bool fits = f.tensors().size() == 1 && f.tensors()[0].type() == data_type::float32 &&
                      f.tensors()[0].shape() == tensor_shape{elements()};
    return fits ? result<void>{} : error{errc::protocol, "has not the elements that are due"};
}

// Whoever is gone has told its own stage.
void reducer::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (!body.getGone() && std::ranges::count(members_, f.from()) > 0)
        fail(read_failure(body).in("a reducer refused a message"));
}

} // namespace troupe
