#include "actors/collective/reducer.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "actors/messages.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

// Of a message between two processes of a machine, awake, and of its bytes (tests/bench/README.md). The choice of `auto`
// depends on it, and must be the same on all ranks: never on what a rank has measured.
constexpr link_cost link{.latency_ns = 30'000, .byte_ns = 0.33};

std::string name_of(std::uint64_t reduction, std::uint32_t round) {
    return "reduction " + std::to_string(reduction) + " round " + std::to_string(round);
}

// All elements one after the other.
result<tensor> in_a_row(compute_context& context, std::vector<tensor> parts, std::size_t elements) {
    auto row = tensor::allocate(context.memory, data_type::float32, {elements});
    if (!row)
        return row.failure();
    for (tensor& t : parts)
        t = t.reshaped({t.elements()});
    if (auto moved = context.ops.run(concat{.axis = 0, .inputs = parts, .output = *row}); !moved)
        return moved.failure();
    return row;
}

result<tensor> zeros(compute_context& context, std::size_t elements) {
    auto row = tensor::allocate(context.memory, data_type::float32, {elements});
    if (!row)
        return row.failure();
    if (auto filled = context.ops.run(fill{*row, 0}); !filled)
        return filled.failure();
    return row;
}

} // namespace

reducer::reducer(actor_context& context, reducer_options options)
    : actor{context}, options_{std::move(options)} {
    for (const tensor_shape& shape : options_.shapes)
        elements_ += shape.elements();
    on<proto::JoinReduction>(&reducer::join);
    on<proto::Reduce>(&reducer::reduce);
    on<proto::ReduceChunk>(&reducer::chunk);
    on<proto::WorkDone>(&reducer::work_done);
}

void reducer::join(proto::JoinReduction::Reader body, const frame& f) {
    const auto members = body.getMembers();
    if (stage_ || body.getRank() >= members.size())
        return reject("this reducer has its peers already, or the stage is none of them");
    stage_ = f.from();
    for (const auto member : members)
        members_.push_back(read_address(member));
    const auto algorithm = choose(options_.algorithm, members.size(), elements_, link);
    segments_ = segments_of(algorithm, members.size());
    transfers_ = list_transfers(algorithm, body.getRank(), members.size());
}

void reducer::reduce(proto::Reduce::Reader body, const frame& f) {
    if (!stage_ || f.from() != stage_)
        return reject("the sender is not the stage of this reducer");
    if (current_ || body.getReduction() != next_id_)
        return fail({errc::protocol, "reduction " + std::to_string(body.getReduction()) +
                                         " is asked for where " + std::to_string(next_id_) +
                                         " is due"});
    std::vector<tensor> inputs{f.tensors().begin(), f.tensors().end()};
    if (!inputs.empty() && !std::ranges::equal(inputs, options_.shapes, {}, &tensor::shape))
        return fail(
            {errc::protocol, "what is to be summed has not the shapes of the stage's weights"});
    current_.emplace();
    current_->id = next_id_++;
    current_->scale = body.getScale();
    current_->minibatch = minibatch_id{f.envelope().getMinibatch()};
    start(std::move(inputs));
}

void reducer::start(std::vector<tensor> inputs) {
    auto flat = std::make_shared<tensor>();
    submit(
        [flat, inputs = std::move(inputs),
         elements = elements_](compute_context& context) -> result<void> {
            auto row =
                inputs.empty() ? zeros(context, elements) : in_a_row(context, inputs, elements);
            if (!row)
                return row.failure();
            *flat = std::move(row).value();
            return {};
        },
        static_cast<double>(elements_),
        [this, flat] {
            for (std::size_t s = 0; s < segments_; ++s) {
                const index_range at = elements_of(s, segments_, elements_);
                current_->segments.push_back(flat->rows(at.first, at.count));
            }
            go_on();
        });
}

std::vector<std::size_t> reducer::filled(index_range segments) const {
    std::vector<std::size_t> numbers;
    for (std::size_t s = segments.first; s < segments.first + segments.count; ++s)
        if (elements_of(s, segments_, elements_).count > 0)
            numbers.push_back(s);
    return numbers;
}

// Takes the rounds as far as what has arrived allows.
void reducer::go_on() {
    while (current_->next < transfers_.size()) {
        const reduce_transfer& t = transfers_[current_->next];
        if (!std::exchange(current_->sent, true))
            send_part(t);
        frame_ptr part;
        if (!filled(t.receives).empty()) {
            const auto arrival = arrived_.extract({current_->id, t.round});
            if (arrival.empty())
                return; // until it comes
            part = arrival.mapped();
        }
        ++current_->next;
        current_->sent = false;
        if (part && t.adds)
            return add_part(t, part);
        if (part)
            keep_part(t, *part);
    }
    finish();
}

void reducer::send_part(const reduce_transfer& t) {
    const auto sent = filled(t.sends);
    if (t.to == nobody || sent.empty())
        return;
    frame_builder<proto::ReduceChunk> chunk;
    chunk.body().setReduction(current_->id);
    chunk.body().setRound(t.round);
    chunk.envelope().setMinibatch(current_->minibatch.value());
    for (const std::size_t s : sent)
        chunk.attach(current_->segments[s]);
    send(members_[t.to], std::move(chunk));
}

void reducer::keep_part(const reduce_transfer& t, const frame& chunk) {
    auto part = chunk.tensors().begin();
    for (const std::size_t s : filled(t.receives))
        current_->segments[s] = *part++;
}

void reducer::add_part(const reduce_transfer& t, const frame_ptr& chunk) {
    const auto numbers = filled(t.receives);
    std::vector<tensor> own;
    double elements = 0;
    for (const std::size_t s : numbers) {
        own.push_back(current_->segments[s]);
        elements += static_cast<double>(own.back().elements());
    }
    auto sums = std::make_shared<std::vector<tensor>>();
    submit(
        [sums, own = std::move(own), chunk](compute_context& context) -> result<void> {
            for (std::size_t i = 0; i < own.size(); ++i) {
                auto sum = tensor::allocate(context.memory, data_type::float32, own[i].shape());
                if (!sum)
                    return sum.failure();
                const auto added =
                    context.ops.run(add_scaled{own[i], 1, chunk->tensors()[i], *sum});
                if (!added)
                    return added.failure();
                sums->push_back(std::move(sum).value());
            }
            return {};
        },
        elements,
        [this, sums, numbers] {
            for (std::size_t i = 0; i < numbers.size(); ++i)
                current_->segments[numbers[i]] = std::move((*sums)[i]);
            go_on();
        });
}

// What the peers may still read is left as it is: the sums are a copy.
void reducer::finish() {
    std::vector<tensor> parts;
    for (const std::size_t s : filled({0, segments_}))
        parts.push_back(std::move(current_->segments[s]));
    auto sum = std::make_shared<tensor>();
    submit(
        [sum, parts = std::move(parts), elements = elements_,
         factor = current_->scale](compute_context& context) -> result<void> {
            auto row = in_a_row(context, parts, elements);
            if (!row)
                return row.failure();
            *sum = std::move(row).value();
            return factor == 1 ? result<void>{} : context.ops.run(scale{*sum, factor, *sum});
        },
        static_cast<double>(elements_),
        [this, sum] {
            frame_builder<proto::Reduced> reduced;
            reduced.body().setReduction(current_->id);
            reduced.envelope().setMinibatch(current_->minibatch.value());
            std::size_t first = 0;
            for (const tensor_shape& shape : options_.shapes) {
                reduced.attach(sum->rows(first, shape.elements()).reshaped(shape));
                first += shape.elements();
            }
            current_.reset();
            send(stage_, std::move(reduced));
        });
}

// ---- what arrives ---------------------------------------------------------------------------------------------------

void reducer::chunk(proto::ReduceChunk::Reader body, const frame& f) {
    if (std::ranges::count(members_, f.from()) == 0)
        return reject("the sender is no reducer of this stage in this run");
    if (auto fits = check_chunk(body, f); !fits)
        return fail(fits.failure().in(name_of(body.getReduction(), body.getRound())));
    arrived_.emplace(round_key{body.getReduction(), body.getRound()}, current());
    if (current_ && !then_)
        go_on();
}

// A peer can be one reduction ahead: for the one after that it needs what this rank has still to send. Nobody is ahead of
// a reduction that this rank has not begun.
result<void> reducer::check_chunk(proto::ReduceChunk::Reader body, const frame& f) const {
    const std::uint64_t oldest = current_ ? current_->id : next_id_;
    if (body.getReduction() < oldest || body.getReduction() > next_id_)
        return error{errc::protocol, "arrives where " + std::to_string(oldest) + " is due"};
    const auto begin = transfers_.begin() +
                       static_cast<std::ptrdiff_t>(
                           current_ && body.getReduction() == current_->id ? current_->next : 0);
    const auto due =
        std::ranges::find(begin, transfers_.end(), body.getRound(), &reduce_transfer::round);
    if (due == transfers_.end() || filled(due->receives).empty() ||
        members_[due->from] != f.from() ||
        arrived_.contains({body.getReduction(), body.getRound()}))
        return error{errc::protocol, "comes from a rank that sends nothing then, or twice"};
    const auto numbers = filled(due->receives);
    bool fits = f.tensors().size() == numbers.size();
    for (std::size_t i = 0; fits && i < numbers.size(); ++i) {
        const tensor& t = f.tensors()[i];
        fits = t.type() == data_type::float32 && t.shape().rank() == 1 &&
               t.elements() == elements_of(numbers[i], segments_, elements_).count;
    }
    return fits ? result<void>{} : error{errc::protocol, "has not the elements that are due"};
}

// ---- the device -----------------------------------------------------------------------------------------------------

void reducer::submit(device_work work, double elements, std::function<void()> then) {
    TROUPE_CHECK(!then_, "one piece of work at a time");
    then_ = std::move(then);
    device_task task;
    task.cost_hint = elements;
    task.work = std::move(work);
    task.done = completion_to(self_handle(), ++ticket_);
    options_.compute->submit(std::move(task));
}

void reducer::work_done(proto::WorkDone::Reader body, const frame& f) {
    TROUPE_CHECK(then_ && body.getTicket() == ticket_,
                 "the device completes what was submitted, in order");
    const work_span span = span_of(body, f);
    trace_compute(runtime().trace().label(proto::SUM_WORK->cStr()), span.began, span.ended,
                  current_->minibatch, weight_version{none},
                  options_.compute->memory().statistics().bytes_reserved);
    const auto then = std::exchange(then_, nullptr);
    if (body.hasFailure())
        return fail(read_failure(body.getFailure()).in("summing over replicas"));
    then();
}

// Whoever is gone has told its own stage.
void reducer::on_rejected(proto::Rejected::Reader body, const frame& f) {
    if (!body.getGone() && std::ranges::count(members_, f.from()) > 0)
        fail(read_failure(body).in("a reducer refused a message"));
}

} // namespace troupe
