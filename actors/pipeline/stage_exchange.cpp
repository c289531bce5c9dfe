#include <utility>

#include "actors/messages.hpp"
#include "actors/pipeline/stage_actor.hpp"
#include "actors/pipeline/stage_messages.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

namespace {

// What `old` was plus factor * more, in its place where nobody else holds it.
result<tensor> moved(compute_context& context, tensor old, float factor, const tensor& more) {
    tensor target = old;
    if (!old.unique()) {
        auto made = tensor::allocate(context.memory, data_type::float32, old.shape());
        if (!made)
            return made.failure();
        target = std::move(made).value();
    }
    if (auto added = context.ops.run(add_scaled{old, factor, more, target}); !added)
        return added.failure();
    return target;
}

} // namespace

// ---- weights for weights, where replicas update on their own ----------------------------------------------------------

void stage_actor::join_peers() {
    frame_builder<proto::JoinPeers> join;
    join.body().setRank(options_.replica.replica);
    auto list = join.body().initMembers(static_cast<unsigned>(peers_.size()));
    for (unsigned r = 0; r < list.size(); ++r)
        write_address(list[r], peers_[r]);
    join.body().setAnew(joins_at_.has_value());
    asks_server_ = joins_at_.has_value();
    hand_to_peer(std::move(join), [this] {
        if (!asks_server_) // else take_common() comes next
            tell_ready();
    });
}

// What this replica has, with a message to its peer; then the rest.
template <class Body>
void stage_actor::hand_to_peer(frame_builder<Body> message, const std::function<void()>& then) {
    auto kept = std::make_shared<frame_builder<Body>>(std::move(message));
    take_out_then(handed_over(), [this, kept, then](std::vector<tensor> tensors) {
        for (tensor& t : tensors)
            kept->attach(std::move(t));
        send(options_.peer, std::move(*kept));
        if (then)
            then();
    });
}

// What the optimizer keeps stays each replica's own.
std::vector<tensor> stage_actor::handed_over() const {
    std::vector<tensor> own = latest_->averages;
    own.insert(own.end(), latest_->parameters.begin(), latest_->parameters.end());
    return own;
}

bool stage_actor::waits_for_exchange() const {
    if (!exchanging_ || !options_.sync.exchange->waits)
        return false;
    return !options_.sync.exchange->overlaps || epoch_->position.updates > epoch_->exchanged_after;
}

bool stage_actor::exchange_is_due() const {
    const std::uint64_t updates = epoch_->position.updates;
    return options_.peer && !exchanging_ && !addition_ && updates > epoch_->exchanged_after &&
           options_.sync.exchange->is_due_after(updates);
}

bool stage_actor::last_exchange_is_due() const {
    if (!options_.peer || epoch_->exchanged_last)
        return false;
    switch (options_.sync.exchange->at_end) {
    case weight_exchange::ending::nothing:
        return false;
    case weight_exchange::ending::exchange:
        return epoch_->position.updates > epoch_->exchanged_after;
    case weight_exchange::ending::last_exchange:
        return true;
    }
    return false;
}

// The first of the epoch where there is none.
std::uint64_t stage_actor::minibatch_of_last_update() const {
    const std::uint64_t updates = epoch_->position.updates;
    if (updates == 0)
        return epoch_->first_minibatch;
    return is_dealt() ? run_minibatch(updates - 1)
                      : epoch_->first_minibatch + (updates - 1) * options_.replica.replicas;
}

void stage_actor::hand_over(bool last) {
    exchanging_ = true;
    epoch_->exchanged_after = epoch_->position.updates;
    epoch_->exchanged_last = last;
    frame_builder<proto::Exchange> exchange;
    exchange.body().setLast(last);
    exchange.body().setRate(options_.rates({epoch_->number, minibatch_of_last_update()}));
    exchange.envelope().setMinibatch(minibatch_of_last_update());
    hand_to_peer(std::move(exchange));
    if (options_.sync.exchange->overlaps)
        advance();
}

void stage_actor::exchanged(proto::Exchanged::Reader body, const frame& f) {
    if (!comes_from(options_.peer, f))
        return;
    TROUPE_CHECK(exchanging_, "a peer answers what it was asked");
    exchanging_ = false;
    if (body.getFactor() == 0)
        latest_ = with_exchanged(f);
    else
        addition_ = current();
    advance();
}

std::shared_ptr<weights> stage_actor::with_exchanged(const frame& f) const {
    auto taken = std::make_shared<weights>(*latest_);
    const auto tensors = f.tensors();
    const auto parameters = tensors.begin() + static_cast<std::ptrdiff_t>(taken->averages.size());
    taken->averages.assign(tensors.begin(), parameters);
    taken->parameters.assign(parameters, tensors.end());
    return taken;
}

void stage_actor::add_up() {
    submit({.label = proto::EXCHANGE_WORK->cStr(),
            .minibatch = minibatch_id{addition_->envelope().getMinibatch()},
            .version = latest_->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [addition = std::move(addition_),
                     current = std::make_shared<weights_ptr>(std::move(latest_))](
                        compute_context& context, work_results& out) -> result<void> {
                auto next = std::make_shared<weights>(**current);
                current->reset();
                const float factor = addition->body<proto::Exchanged>().getFactor();
                auto more = addition->tensors().begin();
                for (auto* part : {&next->averages, &next->parameters})
                    for (tensor& t : *part) {
                        auto old = brought_in(context, std::exchange(t, tensor{}));
                        auto by = brought_in(context, *more++);
                        if (!old || !by)
                            return old ? by.failure() : old.failure();
                        auto sum = moved(context, std::move(old).value(), factor, *by);
                        if (!sum)
                            return sum.failure();
                        t = std::move(sum).value();
                    }
                out.weights = std::move(next);
                return {};
            },
            .then = [this] { latest_ = std::move(results_->weights); }});
}

// ---- between two epochs ---------------------------------------------------------------------------------------------

void stage_actor::take_common(proto::Common::Reader, const frame& f) {
    if (!comes_from(options_.peer, f))
        return;
    TROUPE_CHECK(asks_server_ && !epoch_, "a peer answers what it was asked");
    asks_server_ = false;
    if (!joins_at_) {
        common_ = with_exchanged(f);
        return finish_refresh();
    }
    auto first = with_exchanged(f);
    first->version = *std::exchange(joins_at_, std::nullopt);
    latest_ = std::move(first);
    tell_ready();
}

} // namespace troupe
