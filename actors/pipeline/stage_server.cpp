#include <utility>

#include "actors/pipeline/stage_actor.hpp"
#include "actors/pipeline/stage_messages.hpp"
#include "actors/update_counts.hpp"
#include "kernels/ops/ops.hpp"

namespace troupe {

// ---- a parameter server in place of updates -------------------------------------------------------------------------

void stage_actor::server_joined(proto::ServerJoined::Reader, const frame& f) {
    if (comes_from(options_.cache, f))
        tell_ready();
}

// The minibatch's gradients, clipped by their own norm, go to the server; the next weights come from it.
void stage_actor::offer(const instruction&) {
    const bool is_clipped = options_.clip.norm || options_.clip.value;
    if ((!is_clipped && !has_own_memory()) || gradient_sum_.empty())
        return hand_over();
    submit({.label = "clip",
            .minibatch = minibatch_id{own_minibatch_of_update()},
            .version = latest_->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [program = options_.program, clip = options_.clip,
                     sum = std::make_shared<std::vector<tensor>>(std::move(gradient_sum_))](
                        compute_context& context, work_results& out) -> result<void> {
                const auto gradients = std::span{*sum}.first(program->parameters().size());
                if (auto clipped = clip_gradients(context, clip, gradients, std::nullopt); !clipped)
                    return clipped;
                out.gradient_sum = std::move(*sum);
                return take_out(context, out.gradient_sum);
            },
            .then =
                [this] {
                    gradient_sum_ = std::move(results_->gradient_sum);
                    hand_over();
                }});
    gradient_sum_.clear();
}

// Running averages stay here.
void stage_actor::hand_over() {
    const std::size_t parameters =
        std::min(options_.program->parameters().size(), gradient_sum_.size());
    std::vector<tensor> gradients = std::exchange(gradient_sum_, {});
    statistics_.assign(gradients.begin() + static_cast<std::ptrdiff_t>(parameters),
                       gradients.end());
    gradients.resize(parameters);
    if (options_.sync.accrues())
        accrue(std::move(gradients));
    else
        send_offer(std::move(gradients), minibatch_of_update(),
                   parameters > 0 ? epoch_->gradient_fetches : epoch_->fetches, true);
}

void stage_actor::send_offer(std::vector<tensor> gradients, std::uint64_t minibatch,
                             std::uint64_t fetches, bool fetch) {
    asks_server_ = fetch;
    epoch_->has_pushed = true;
    frame_builder<proto::Offer> offer;
    offer.body().setEpoch(epoch_->number);
    offer.body().setClock(epoch_->pushes++);
    offer.body().setMinibatch(minibatch);
    offer.body().setFetchesLate(static_cast<std::uint32_t>(epoch_->fetches - fetches));
    offer.body().setFetch(fetch);
    offer.envelope().setMinibatch(is_dealt() ? minibatch : own_minibatch_of_update());
    for (tensor& gradient : gradients)
        offer.attach(std::move(gradient));
    send(options_.cache, std::move(offer));
}

void stage_actor::fetched(proto::Fetched::Reader body, const frame& f) {
    if (!comes_from(options_.cache, f))
        return;
    TROUPE_CHECK(asks_server_, "a cache answers what it was asked");
    asks_server_ = false;
    if (!epoch_)
        return take_refreshed(f);
    if (!std::exchange(epoch_->entered, true)) {
        auto first = std::make_shared<weights>(*latest_);
        first->parameters = tensors_of(f);
        latest_ = std::move(first);
        return advance();
    }
    if (body.getStaleness() >= epoch_->whole.minibatches)
        return fail({errc::protocol, "a shard of the parameter server tells of more updates than "
                                     "the epoch has minibatches"});
    ++epoch_->fetches;
    epoch_->dropped += body.getDropped();
    if (std::exchange(epoch_->has_pushed, false) && body.getDropped() == 0)
        count_lag(body.getStaleness());
    step_alone(tensors_of(f), epoch_->accrued); // which the server has not yet
}

// The weights `from`, less the learning rate times these gradients, are the next; running averages are this replica's own.
void stage_actor::step_alone(std::vector<tensor> from, std::vector<tensor> gradients) {
    if (statistics_.empty() && gradients.empty()) {
        adopt(std::move(from), latest_->averages);
        return advance();
    }
    struct next_weights {
        std::vector<tensor> parameters, averages;
    };
    auto next = std::make_shared<next_weights>();
    next->parameters = std::move(from);
    next->averages = latest_->averages;
    submit(
        {.label = gradients.empty() ? "averages" : proto::UPDATE_WORK->cStr(),
         .minibatch = minibatch_id{own_minibatch_of_update()},
         .version = latest_->version,
         .flops = static_cast<double>(options_.program->parameter_bytes()),
         .work = [program = options_.program, current = latest_, next,
                  gradients = std::move(gradients),
                  rate = options_.rates({epoch_->number, minibatch_of_update()}),
                  statistics = std::exchange(statistics_, {})](
                     compute_context& context, work_results& out) mutable -> result<void> {
             auto here = out.here(context, current);
             if (!here)
                 return here.failure();
             for (auto* arrived : {&next->parameters, &gradients, &statistics})
                 if (auto in = bring_in(context, *arrived); !in)
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

void stage_actor::adopt(std::vector<tensor> parameters, std::vector<tensor> averages) {
    auto next = std::make_shared<weights>();
    next->version = latest_->version.next();
    next->parameters = std::move(parameters);
    next->averages = std::move(averages);
    latest_ = std::move(next);
    epoch_->position = position_after({pass::update, epoch_->position.updates, 0}, epoch_->shape,
                                      epoch_->position);
}

void stage_actor::enter_server() {
    asks_server_ = true;
    frame_builder<proto::EnterEpoch> enter;
    enter.body().setEpoch(epoch_->number);
    send(options_.cache, std::move(enter));
}

void stage_actor::leave_server() {
    if (!epoch_->accrued.empty())
        flush_accrued(false);
    asks_server_ = true;
    frame_builder<proto::FinishEpoch> finish;
    finish.body().setEpoch(epoch_->number);
    send(options_.cache, std::move(finish));
}

void stage_actor::server_left(proto::EpochFinished::Reader body, const frame& f) {
    if (!comes_from(options_.cache, f))
        return;
    asks_server_ = false;
    epoch_->left_server = true;
    server_version_ = weight_version{body.getWeightVersion()};
    advance();
}

// ---- Downpour: sums of gradients, and steps between two pulls ----------------------------------------------------------

// Adds a minibatch's gradients to those that are yet to be pushed.
void stage_actor::accrue(std::vector<tensor> gradients) {
    if (epoch_->accrued.empty()) {
        epoch_->accrued = gradients;
        epoch_->accrued_fetches = epoch_->gradient_fetches;
        return push_or_step(gradients);
    }
    auto sums = std::make_shared<std::vector<tensor>>();
    submit({.label = "accrue",
            .minibatch = minibatch_id{own_minibatch_of_update()},
            .version = latest_->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [before = epoch_->accrued, more = gradients,
                     sums](compute_context& context, work_results&) mutable -> result<void> {
                for (auto* arrived : {&before, &more})
                    if (auto in = bring_in(context, *arrived); !in)
                        return in;
                for (std::size_t p = 0; p < more.size(); ++p) {
                    auto sum =
                        tensor::allocate(context.memory, data_type::float32, before[p].shape());
                    if (!sum)
                        return sum.failure();
                    if (auto done = context.ops.run(add_scaled{before[p], 1, more[p], *sum}); !done)
                        return done;
                    sums->push_back(std::move(*sum));
                }
                return take_out(context, *sums);
            },
            .then =
                [this, sums, gradients] {
                    epoch_->accrued = std::move(*sums);
                    push_or_step(gradients);
                }});
}

// Every push_every minibatches it pushes what has accrued, every fetch_every it pulls; else it steps by itself.
void stage_actor::push_or_step(const std::vector<tensor>& gradients) {
    epoch_->accrued_minibatch = minibatch_of_update();
    const std::uint64_t minibatches = epoch_->position.updates + 1;
    const bool fetch = minibatches % options_.sync.fetch_every == 0;
    if (minibatches % options_.sync.push_every == 0)
        flush_accrued(fetch);
    else if (fetch) {
        asks_server_ = true;
        frame_builder<proto::Offer> wish;
        wish.body().setEpoch(epoch_->number);
        wish.body().setClock(epoch_->pushes);
        wish.body().setMinibatch(minibatch_of_update());
        wish.body().setPush(false);
        wish.envelope().setMinibatch(own_minibatch_of_update());
        send(options_.cache, std::move(wish));
    }
    if (!fetch)
        step_alone(latest_->parameters, gradients);
}

void stage_actor::flush_accrued(bool fetch) {
    send_offer(std::exchange(epoch_->accrued, {}), epoch_->accrued_minibatch,
               epoch_->accrued_fetches, fetch);
}

// ---- between two epochs ---------------------------------------------------------------------------------------------

void stage_actor::refresh() {
    asks_server_ = true;
    if (options_.peer)
        return send(options_.peer, frame_builder<proto::ReadCommon>{});
    send(options_.cache, frame_builder<proto::Refresh>{});
}

void stage_actor::take_refreshed(const frame& f) {
    const std::uint64_t version = f.body<proto::Fetched>().getWeightVersion();
    if (version != server_version_.value())
        return fail({errc::protocol, "the parameter server has made " + std::to_string(version) +
                                         " updates where " +
                                         std::to_string(server_version_.value()) + " are due"});
    const auto tensors = f.tensors();
    const auto parameters =
        tensors.begin() + static_cast<std::ptrdiff_t>(latest_->parameters.size());
    auto whole = std::make_shared<weights>(*latest_);
    whole->parameters.assign(tensors.begin(), parameters);
    whole->state.assign(parameters, tensors.end());
    whole->updates = read_counts(f.body<proto::Fetched>().getUpdates());
    latest_ = std::move(whole);
    finish_refresh();
}

void stage_actor::finish_refresh() {
    is_fresh_ = true;
    if (snapshot_due_)
        tell_snapshot();
    advance();
}

} // namespace troupe
