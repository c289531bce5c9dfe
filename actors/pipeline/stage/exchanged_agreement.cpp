#include "actors/pipeline/stage/exchanged_agreement.hpp"

#include <utility>

#include "actors/messages.hpp"
#include "actors/pipeline/stage/stage_messages.hpp"
#include "kernels/ops/ops.hpp"
#include "schemas/peers.capnp.h"

namespace troupe {

// ---- set-up ---------------------------------------------------------------------------------------------------------

result<void> exchanged_agreement::connect(proto::ConnectStage::Reader body) {
    if (is_mean())
        return join_reduction(stage(), peers_.own, peers_.by_replica);
    if (body.getJoins())
        joins_at_ = weight_version{body.getWeightVersion()};
    if (peers_.by_replica.empty())
        return error{errc::protocol, "the peers of this stage's replicas are not named"};
    stage().watch(peers_.own);
    if (first_peer() != peers_.own)
        stage().watch(first_peer());
    return {};
}

void exchanged_agreement::join() {
    if (is_mean())
        return stage().tell_ready();
    frame_builder<proto::JoinPeers> message;
    message.body().setRank(options().at.replica.replica);
    auto list = message.body().initMembers(static_cast<unsigned>(peers_.by_replica.size()));
    for (unsigned r = 0; r < list.size(); ++r)
        write_address(list[r], peers_.by_replica[r]);
    message.body().setAnew(joins_at_.has_value());
    if (joins_at_)
        common_ = common::asked;
    send_weights(std::move(message), [this] {
        if (!joins_at_) // else Common comes next
            stage().tell_ready();
    });
}

// Sends the peer a message with this replica's averages and parameters, and calls `then`. The
// optimizer's state stays each replica's own.
template <class Body>
void exchanged_agreement::send_weights(frame_builder<Body> message,
                                       const std::function<void()>& then) {
    std::vector<tensor> own = state().weights.latest()->averages;
    const std::vector<tensor>& parameters = state().weights.latest()->parameters;
    own.insert(own.end(), parameters.begin(), parameters.end());
    auto kept = std::make_shared<frame_builder<Body>>(std::move(message));
    stage().copy_to_host_then(std::move(own), [this, kept, then](std::vector<tensor> tensors) {
        for (tensor& t : tensors)
            kept->attach(std::move(t));
        stage().send(peers_.own, std::move(*kept));
        if (then)
            then();
    });
}

// ---- an epoch -------------------------------------------------------------------------------------------------------

void exchanged_agreement::begin_epoch() {
    course_.begin_epoch();
    common_ = options().agreement.sync.exchange->has_common ? common::unknown : common::known;
}

namespace {

demand demand_of(exchange_course::action a) {
    using enum exchange_course::action;
    return a == nothing ? demand::nothing : a == wait ? demand::wait : demand::act;
}

} // namespace

demand exchanged_agreement::before_pass() const {
    return demand_of(course_.before_pass(state().order.updates()));
}

demand exchanged_agreement::at_end() const {
    return demand_of(course_.at_end(state().order.updates()));
}

void exchanged_agreement::act() {
    if (course_.before_pass(state().order.updates()) == exchange_course::action::add)
        return add_up();
    hand_over(false);
}

void exchanged_agreement::act_at_end() {
    if (course_.at_end(state().order.updates()) == exchange_course::action::add)
        return add_up();
    hand_over(true);
}

void exchanged_agreement::hand_over(bool last) {
    const stage_state& s = state();
    const std::uint64_t minibatch = s.share().minibatch_of_last(s.order.updates());
    course_.hand_over(s.order.updates(), last);
    frame_builder<proto::Exchange> exchange;
    exchange.body().setLast(last);
    exchange.body().setRate(options().update.rates(minibatch));
    exchange.envelope().setWork(minibatch);
    send_weights(std::move(exchange));
    if (options().agreement.sync.exchange->overlaps)
        stage().go_on();
}

void exchanged_agreement::exchanged(const frame_ptr& f) {
    TROUPE_CHECK(course_.is_asked(), "a peer answers what it was asked");
    const bool adds = f->body<proto::Exchanged>().getFactor() != 0;
    course_.answer(adds, state().order.updates());
    if (adds)
        addition_ = f;
    else
        state().weights.set(with_exchanged(*f));
    stage().go_on();
}

std::shared_ptr<weights> exchanged_agreement::with_exchanged(const frame& f) const {
    auto taken = std::make_shared<weights>(*state().weights.latest());
    const auto tensors = f.tensors();
    const auto parameters = tensors.begin() + static_cast<std::ptrdiff_t>(taken->averages.size());
    taken->averages.assign(tensors.begin(), parameters);
    taken->parameters.assign(parameters, tensors.end());
    return taken;
}

namespace {

// Returns old + factor * more; computed in place if nobody else holds `old`.
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

void exchanged_agreement::add_up() {
    course_.add();
    auto next = std::make_shared<weights_ptr>();
    const weight_version version = state().weights.latest()->version;
    const minibatch_id minibatch{addition_->envelope().getWork()};
    stage().submit({.label = proto::EXCHANGE_WORK->cStr(),
                    .minibatch = minibatch,
                    .version = version,
                    .flops = static_cast<double>(options().program->parameter_bytes()),
                    .work = [next, addition = std::move(addition_),
                             current = std::make_shared<weights_ptr>(state().weights.take())](
                                compute_context& context, copied_weights&) -> result<void> {
                        auto sums = std::make_shared<weights>(**current);
                        current->reset();
                        const float factor = addition->body<proto::Exchanged>().getFactor();
                        auto more = addition->tensors().begin();
                        for (auto* part : {&sums->averages, &sums->parameters})
                            for (tensor& t : *part) {
                                auto old = copied_to_device(context, std::exchange(t, tensor{}));
                                auto by = copied_to_device(context, *more++);
                                if (!old || !by)
                                    return old ? by.failure() : old.failure();
                                auto sum = moved(context, std::move(old).value(), factor, *by);
                                if (!sum)
                                    return sum.failure();
                                t = std::move(sum).value();
                            }
                        *next = std::move(sums);
                        return {};
                    },
                    .then = [this, next] { state().weights.set(std::move(*next)); }});
}

// ---- between two epochs ---------------------------------------------------------------------------------------------

void exchanged_agreement::settle() {
    common_ = common::asked;
    stage().send(peers_.own, frame_builder<proto::ReadCommon>{});
}

void exchanged_agreement::take_common(const frame_ptr& f) {
    TROUPE_CHECK(common_ == common::asked && !state().arrivals.is_running(),
                 "a peer answers what it was asked");
    common_ = common::known;
    if (!joins_at_) {
        state().weights.settle(with_exchanged(*f));
        return stage().go_on();
    }
    auto first = with_exchanged(*f);
    first->version = *std::exchange(joins_at_, std::nullopt);
    state().weights.set(std::move(first));
    stage().tell_ready();
}

// ---- messages and losses --------------------------------------------------------------------------------------------

bool exchanged_agreement::take(const frame_ptr& f) {
    const bool answers = f->body_type() == type_id_of<proto::Exchanged>();
    if (!answers && f->body_type() != type_id_of<proto::Common>())
        return false;
    if (stage().comes_from(peers_.own, *f))
        answers ? exchanged(f) : take_common(f);
    return true;
}

std::optional<noticed_loss> exchanged_agreement::lose(actor_address who, const error& why) const {
    // A replica that is cut off from the first replica's peer is itself lost to the consensus of all
    // replicas.
    if (!is_mean() && who == first_peer())
        return noticed_loss{why.in("cut off from the first replica"), options().at.replica.replica};
    return is_mean() ? loss_among(peers_.by_replica, who, why) : std::nullopt;
}

} // namespace troupe
