#include <utility>

#include "actors/pipeline/stage_actor.hpp"
#include "actors/pipeline/stage_messages.hpp"

namespace troupe {

// ---- a parameter server in place of updates -------------------------------------------------------------------------

void stage_actor::server_joined(proto::ServerJoined::Reader, const frame& f) {
    if (comes_from(options_.cache, f))
        tell_ready();
}

// The minibatch's gradients, clipped by their own norm, go to the server; the next weights come from it.
void stage_actor::offer(const instruction&) {
    if ((!options_.clip.norm && !options_.clip.value) || gradient_sum_.empty())
        return send_offer();
    submit({.label = "clip",
            .minibatch = minibatch_id{minibatch_of_update()},
            .version = latest_->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [program = options_.program, clip = options_.clip,
                     sum = std::make_shared<std::vector<tensor>>(std::move(gradient_sum_))](
                        compute_context& context, work_results& out) -> result<void> {
                const auto gradients = std::span{*sum}.first(program->parameters().size());
                if (auto clipped = clip_gradients(context, clip, gradients, std::nullopt); !clipped)
                    return clipped;
                out.gradient_sum = std::move(*sum);
                return {};
            },
            .then =
                [this] {
                    gradient_sum_ = std::move(results_->gradient_sum);
                    send_offer();
                }});
    gradient_sum_.clear();
}

void stage_actor::send_offer() {
    asks_server_ = true;
    const std::size_t parameters =
        std::min(options_.program->parameters().size(), gradient_sum_.size());
    frame_builder<proto::Offer> offer;
    offer.body().setEpoch(epoch_->number);
    offer.body().setClock(epoch_->position.updates);
    offer.body().setMinibatch(minibatch_of_update());
    offer.body().setFetchesLate(std::exchange(epoch_->fetches_late, 0));
    offer.envelope().setMinibatch(minibatch_of_update());
    for (std::size_t p = 0; p < parameters; ++p)
        offer.attach(std::move(gradient_sum_[p]));
    statistics_.assign(gradient_sum_.begin() + static_cast<std::ptrdiff_t>(parameters),
                       gradient_sum_.end());
    gradient_sum_.clear();
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
    count_lag(body.getStaleness());
    take_fetched(tensors_of(f));
}

// Running averages stay each replica's own.
void stage_actor::take_fetched(std::vector<tensor> parameters) {
    if (statistics_.empty()) {
        adopt(std::move(parameters), latest_->averages);
        return advance();
    }
    auto averages = std::make_shared<std::vector<tensor>>();
    submit({.label = "averages",
            .minibatch = minibatch_id{minibatch_of_update()},
            .version = latest_->version,
            .work = [program = options_.program, current = latest_, averages,
                     statistics = std::move(statistics_)](compute_context& context,
                                                          work_results&) -> result<void> {
                auto next = program->next_averages(context, *current, statistics);
                if (!next)
                    return next.failure();
                *averages = std::move(next).value();
                return {};
            },
            .then = [this, averages,
                     parameters =
                         std::move(parameters)] { adopt(parameters, std::move(*averages)); }});
    statistics_.clear();
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
    asks_server_ = true;
    frame_builder<proto::FinishEpoch> finish;
    finish.body().setEpoch(epoch_->number);
    send(options_.cache, std::move(finish));
}

void stage_actor::server_left(proto::EpochFinished::Reader, const frame& f) {
    if (!comes_from(options_.cache, f))
        return;
    asks_server_ = false;
    epoch_->left_server = true;
    advance();
}

// ---- between two epochs ---------------------------------------------------------------------------------------------

void stage_actor::refresh() {
    asks_server_ = true;
    send(options_.cache, frame_builder<proto::Refresh>{});
}

void stage_actor::take_refreshed(const frame& f) {
    const std::uint64_t version = f.body<proto::Fetched>().getWeightVersion();
    if (version != latest_->version.value())
        return fail({errc::protocol, "the parameter server has made " + std::to_string(version) +
                                         " updates where " +
                                         std::to_string(latest_->version.value()) + " are due"});
    const auto tensors = f.tensors();
    const auto parameters =
        tensors.begin() + static_cast<std::ptrdiff_t>(latest_->parameters.size());
    auto whole = std::make_shared<weights>(*latest_);
    whole->parameters.assign(tensors.begin(), parameters);
    whole->state.assign(parameters, tensors.end());
    latest_ = std::move(whole);
    is_fresh_ = true;
    if (std::exchange(snapshot_due_, false))
        tell_snapshot();
    advance();
}

} // namespace troupe
