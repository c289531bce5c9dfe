#include "actors/pipeline/stage/summed_agreement.hpp"

#include <algorithm>
#include <utility>

#include "actors/messages.hpp"
#include "actors/pipeline/stage/stage_messages.hpp"
#include "schemas/collective.capnp.h"

namespace troupe {

std::ptrdiff_t summed_agreement::averages() const {
    return static_cast<std::ptrdiff_t>(options().program->averages().size());
}

void summed_agreement::begin() {
    now_ = phase::summing;
    reduction_ = reduction_ == none ? 0 : reduction_ + 1;
}

// The sum begins with the last backward pass before an update.
std::shared_ptr<gradient_buckets> summed_agreement::begin_sum(const instruction& backward) {
    const stage_state& s = state();
    if (!s.order.is_last_of_gradients(backward, s.arrivals.shape()))
        return nullptr;
    begin();
    return std::make_shared<gradient_buckets>(
        std::exchange(state().gradients, {}), stage().to_gradients_ready(),
        gradient_buckets::options{options().agreement.encoder, s.share().number(),
                                  options().agreement.as_factors});
}

// If a sum has begun, submits the tensors that are left to the reducer, if any; averages come first.
void summed_agreement::take_gradients(std::vector<tensor> sum) {
    if (now_ == phase::adding_up)
        return agreement::take_gradients(std::move(sum));
    std::ranges::rotate(sum, sum.end() - averages());
    if (!sum.empty())
        submit(0, std::move(sum));
}

// A replica that has no minibatch for the update submits no tensors to the reducer.
bool summed_agreement::take_update() {
    if (now_ == phase::summed)
        return false;
    TROUPE_CHECK(state().gradients.empty(), "what there is to sum went with the backward pass");
    begin();
    submit(0, {});
    return true;
}

// Averages come before parameters: in a backward pass they are ready last.
void summed_agreement::submit(std::size_t first, std::vector<tensor> own) {
    frame_builder<proto::Reduce> request;
    request.body().setReduction(reduction_);
    request.body().setScale(options().at.scale_of_sum());
    request.body().setFirst(static_cast<std::uint32_t>(first));
    request.envelope().setWork(state().traced_minibatch().value());
    for (tensor& t : own)
        request.attach(std::move(t));
    stage().send(reducer_, std::move(request));
}

bool summed_agreement::take(const frame_ptr& f) {
    if (f->body_type() == type_id_of<proto::GradientsReady>()) {
        if (stage().comes_from(stage().address(), *f) && now_ == phase::summing)
            submit(options().program->averages().size() +
                       f->body<proto::GradientsReady>().getFirst(),
                   tensors_of(*f));
        return true;
    }
    if (f->body_type() != type_id_of<proto::Reduced>())
        return false;
    if (!stage().comes_from(reducer_, *f))
        return true;
    TROUPE_CHECK(now_ == phase::summing && f->body<proto::Reduced>().getReduction() == reduction_,
                 "a reducer answers what it was asked");
    now_ = phase::summed;
    std::vector<tensor> sum = tensors_of(*f);
    std::ranges::rotate(sum, sum.begin() + averages());
    state().gradients = std::move(sum);
    stage().go_on();
    return true;
}

std::optional<noticed_loss> summed_agreement::lose(actor_address who, const error& why) const {
    return loss_among(by_replica_, who, why);
}

} // namespace troupe
