#include "actors/pipeline/stage/server_agreement.hpp"

#include <algorithm>
#include <utility>

#include "actors/messages.hpp"
#include "actors/pipeline/stage/stage_messages.hpp"
#include "actors/update_counts.hpp"
#include "kernels/ops/ops.hpp"
#include "schemas/collective.capnp.h"
#include "schemas/params.capnp.h"

namespace troupe {

// ---- set-up ---------------------------------------------------------------------------------------------------------

result<void> server_agreement::connect(proto::ConnectStage::Reader) {
    for (const actor_address shard : shards_)
        stage().watch(shard);
    return {};
}

void server_agreement::join() {
    const weights_ptr& first = state().weights.latest();
    version_ = first->version;
    stage().watch(cache_);
    auto message = std::make_shared<frame_builder<proto::JoinServer>>();
    message->body().setWorker(options().agreement.worker);
    write_address(message->body().initKeeps(), shard_);
    auto list = message->body().initShards(static_cast<unsigned>(shards_.size()));
    for (unsigned k = 0; k < list.size(); ++k)
        write_address(list[k], shards_[k]);
    message->body().setWeightVersion(first->version.value());
    write_counts(message->body().initUpdates(static_cast<unsigned>(first->updates.size())),
                 first->updates);
    std::vector<tensor> kept = first->parameters;
    kept.insert(kept.end(), first->state.begin(), first->state.end());
    stage().copy_to_host_then(std::move(kept), [this, message](std::vector<tensor> tensors) {
        for (tensor& t : tensors)
            message->attach(std::move(t));
        stage().send(cache_, std::move(*message));
    });
}

// ---- an epoch -------------------------------------------------------------------------------------------------------

void server_agreement::begin_epoch() {
    weight_versions& weights = state().weights;
    weights.set(for_passes(*weights.latest()));
    epoch_ = {};
    now_ = phase::entering;
    frame_builder<proto::EnterEpoch> enter;
    enter.body().setEpoch(state().share().number());
    stage().send(cache_, std::move(enter));
}

// Pushes what has accrued, and ends the epoch at the server.
void server_agreement::act_at_end() {
    if (!epoch_.accrued.empty())
        push_accrued(false);
    now_ = phase::leaving;
    frame_builder<proto::FinishEpoch> finish;
    finish.body().setEpoch(state().share().number());
    stage().send(cache_, std::move(finish));
}

// The server counts lags: it has more updates than this stage sees.
void server_agreement::gradients_complete(weight_version, std::uint64_t reading) {
    epoch_.gradient_fetches = reading;
}

// ---- an update ------------------------------------------------------------------------------------------------------

// The minibatch's gradients, clipped by their own norm, go to the server; the next weights come
// from it.
bool server_agreement::take_update() {
    const gradient_clip& clip = options().update.clip;
    const bool is_clipped = clip.norm || clip.value;
    if ((!is_clipped && !options().has_own_memory()) || state().gradients.empty()) {
        hand_over();
        return true;
    }
    auto sum = std::make_shared<std::vector<tensor>>(std::exchange(state().gradients, {}));
    stage().submit({.label = "clip",
                    .minibatch = state().traced_minibatch(),
                    .version = state().weights.latest()->version,
                    .flops = static_cast<double>(options().program->parameter_bytes()),
                    .work = [program = options().program, clip,
                             sum](compute_context& context, copied_weights&) -> result<void> {
                        const auto gradients = std::span{*sum}.first(program->parameters().size());
                        if (auto clipped = clip_gradients(context, clip, gradients, std::nullopt);
                            !clipped)
                            return clipped;
                        return copy_to_host(context, *sum);
                    },
                    .then =
                        [this, sum] {
                            state().gradients = std::move(*sum);
                            hand_over();
                        }});
    return true;
}

// Pushes or accrues the gradients; the statistics of running averages stay at this replica.
void server_agreement::hand_over() {
    std::vector<tensor> gradients = std::exchange(state().gradients, {});
    const std::size_t parameters =
        std::min(options().program->parameters().size(), gradients.size());
    statistics_.assign(gradients.begin() + static_cast<std::ptrdiff_t>(parameters),
                       gradients.end());
    gradients.resize(parameters);
    if (options().agreement.sync.accrues())
        return accrue(std::move(gradients));
    push(std::move(gradients), state().update_position(),
         parameters > 0 ? epoch_.gradient_fetches : epoch_.fetches, true);
}

void server_agreement::push(std::vector<tensor> gradients, std::uint64_t minibatch,
                            std::uint64_t fetches, bool fetch) {
    if (fetch)
        now_ = phase::fetching;
    epoch_.has_pushed = true;
    frame_builder<proto::Offer> offer;
    offer.body().setEpoch(state().share().number());
    offer.body().setClock(epoch_.pushes++);
    offer.body().setMinibatch(minibatch);
    offer.body().setFetchesLate(static_cast<std::uint32_t>(epoch_.fetches - fetches));
    offer.body().setFetch(fetch);
    offer.envelope().setWork(options().agreement.sync.assigns_dynamically()
                                 ? minibatch
                                 : state().traced_minibatch().value());
    for (tensor& gradient : gradients)
        offer.attach(std::move(gradient));
    stage().send(cache_, std::move(offer));
}

void server_agreement::fetched(const frame_ptr& f) {
    const auto body = f->body<proto::Fetched>();
    TROUPE_CHECK(is_waiting(), "a cache answers what it was asked");
    if (now_ == phase::refreshing)
        return refreshed(*f);
    if (std::exchange(now_, phase::inside) == phase::entering) {
        auto first = std::make_shared<weights>(*state().weights.latest());
        first->parameters = tensors_of(*f);
        state().weights.set(std::move(first));
        return stage().go_on();
    }
    if (body.getStaleness() >= state().share().whole().minibatches)
        return stage().fail({errc::protocol, "a shard of the parameter server tells of more "
                                             "updates than the epoch has minibatches"});
    ++epoch_.fetches;
    state().counts.dropped += body.getDropped();
    if (std::exchange(epoch_.has_pushed, false) && body.getDropped() == 0)
        state().counts.count_lag(body.getStaleness());
    step_alone(tensors_of(*f), epoch_.accrued); // gradients that the server does not have yet
}

// Makes the next weights: `from` less the learning rate times these gradients, with this replica's
// own running averages.
void server_agreement::step_alone(std::vector<tensor> from, std::vector<tensor> gradients) {
    if (statistics_.empty() && gradients.empty()) {
        adopt(std::move(from), state().weights.latest()->averages);
        return stage().go_on();
    }
    struct next_weights {
        std::vector<tensor> parameters, averages;
    };
    auto next = std::make_shared<next_weights>();
    next->parameters = std::move(from);
    next->averages = state().weights.latest()->averages;
    stage().submit(
        {.label = gradients.empty() ? "averages" : proto::UPDATE_WORK->cStr(),
         .minibatch = state().traced_minibatch(),
         .version = state().weights.latest()->version,
         .flops = static_cast<double>(options().program->parameter_bytes()),
         .work = [program = options().program, current = state().weights.latest(), next,
                  gradients = std::move(gradients),
                  rate = options().update.rates(state().update_position()),
                  statistics = std::exchange(statistics_, {})](
                     compute_context& context, copied_weights& copies) mutable -> result<void> {
             auto here = copies.on_device(context, current);
             if (!here)
                 return here.failure();
             for (auto* arrived : {&next->parameters, &gradients, &statistics})
                 if (auto in = copy_to_device(context, *arrived); !in)
                     return in;
             for (std::size_t p = 0; p < gradients.size(); ++p) {
                 tensor& weight = next->parameters[p];
                 auto moved = tensor::allocate(context.memory, data_type::float32, weight.shape());
                 if (!moved)
                     return moved.failure();
                 if (auto done = context.ops.run(add_scaled{weight, -rate, gradients[p], *moved});
                     !done)
                     return done;
                 weight = std::move(*moved);
             }
             if (statistics.empty())
                 return {};
             auto averages = program->next_averages(context, **here, statistics);
             if (!averages)
                 return averages.failure();
             next->averages = std::move(averages).value();
             return {};
         },
         .then = [this, next] { adopt(std::move(next->parameters), std::move(next->averages)); }});
}

void server_agreement::adopt(std::vector<tensor> parameters, std::vector<tensor> averages) {
    stage_state& s = state();
    auto next = std::make_shared<weights>();
    next->version = s.weights.latest()->version.next();
    next->parameters = std::move(parameters);
    next->averages = std::move(averages);
    s.weights.set(std::move(next));
    stage().finish_update();
}

// ---- Downpour: sums of gradients, and steps between two pulls ----------------------------------------------------------

// Adds a minibatch's gradients to the sum that is yet to be pushed.
void server_agreement::accrue(std::vector<tensor> gradients) {
    if (epoch_.accrued.empty()) {
        epoch_.accrued = gradients;
        epoch_.accrued_fetches = epoch_.gradient_fetches;
        return push_or_step(gradients);
    }
    auto sums = std::make_shared<std::vector<tensor>>();
    stage().submit(
        {.label = "accrue",
         .minibatch = state().traced_minibatch(),
         .version = state().weights.latest()->version,
         .flops = static_cast<double>(options().program->parameter_bytes()),
         .work = [before = epoch_.accrued, more = gradients,
                  sums](compute_context& context, copied_weights&) mutable -> result<void> {
             for (auto* arrived : {&before, &more})
                 if (auto in = copy_to_device(context, *arrived); !in)
                     return in;
             for (std::size_t p = 0; p < more.size(); ++p) {
                 auto sum = tensor::allocate(context.memory, data_type::float32, before[p].shape());
                 if (!sum)
                     return sum.failure();
                 if (auto done = context.ops.run(add_scaled{before[p], 1, more[p], *sum}); !done)
                     return done;
                 sums->push_back(std::move(*sum));
             }
             return copy_to_host(context, *sums);
         },
         .then =
             [this, sums, gradients] {
                 epoch_.accrued = std::move(*sums);
                 push_or_step(gradients);
             }});
}

// Pushes the accrued sum every push_every minibatches, and pulls every fetch_every; without a pull
// the replica steps by itself.
void server_agreement::push_or_step(const std::vector<tensor>& gradients) {
    const replica_sync& sync = options().agreement.sync;
    epoch_.accrued_minibatch = state().update_position();
    const std::uint64_t minibatches = state().order.updates() + 1;
    const bool fetch = minibatches % sync.fetch_every == 0;
    if (minibatches % sync.push_every == 0)
        push_accrued(fetch);
    else if (fetch) {
        now_ = phase::fetching;
        frame_builder<proto::Offer> wish;
        wish.body().setEpoch(state().share().number());
        wish.body().setClock(epoch_.pushes);
        wish.body().setMinibatch(state().update_position());
        wish.body().setPush(false);
        wish.envelope().setWork(state().traced_minibatch().value());
        stage().send(cache_, std::move(wish));
    }
    if (!fetch)
        step_alone(state().weights.latest()->parameters, gradients);
}

void server_agreement::push_accrued(bool fetch) {
    push(std::exchange(epoch_.accrued, {}), epoch_.accrued_minibatch, epoch_.accrued_fetches,
         fetch);
}

// ---- between two epochs ---------------------------------------------------------------------------------------------

void server_agreement::settle() {
    now_ = phase::refreshing;
    stage().send(cache_, frame_builder<proto::Refresh>{});
}

void server_agreement::refreshed(const frame& f) {
    const auto body = f.body<proto::Fetched>();
    if (body.getWeightVersion() != version_.value())
        return stage().fail({errc::protocol, "the parameter server has made " +
                                                 std::to_string(body.getWeightVersion()) +
                                                 " updates where " +
                                                 std::to_string(version_.value()) + " are due"});
    auto whole = std::make_shared<weights>(*state().weights.latest());
    const auto tensors = f.tensors();
    const auto parameters = tensors.begin() + static_cast<std::ptrdiff_t>(whole->parameters.size());
    whole->parameters.assign(tensors.begin(), parameters);
    whole->state.assign(parameters, tensors.end());
    whole->updates = read_counts(body.getUpdates());
    state().weights.set(std::move(whole));
    now_ = phase::apart;
    stage().go_on();
}

// ---- messages and losses --------------------------------------------------------------------------------------------

bool server_agreement::take(const frame_ptr& f) {
    const std::uint64_t type = f->body_type();
    if (type != type_id_of<proto::ServerJoined>() && type != type_id_of<proto::Fetched>() &&
        type != type_id_of<proto::EpochFinished>())
        return false;
    if (!stage().comes_from(cache_, *f))
        return true;
    if (type == type_id_of<proto::ServerJoined>()) {
        stage().tell_ready();
    } else if (type == type_id_of<proto::Fetched>()) {
        fetched(f);
    } else {
        now_ = phase::left;
        version_ = weight_version{f->body<proto::EpochFinished>().getWeightVersion()};
        stage().go_on();
    }
    return true;
}

std::optional<noticed_loss> server_agreement::lose(actor_address who, const error& why) const {
    return loss_among(shards_, who, why);
}

} // namespace troupe
