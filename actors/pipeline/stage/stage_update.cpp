// A stage's updates.
#include "actors/pipeline/stage/stage_actor.hpp"
#include "schemas/pipeline.capnp.h"

namespace troupe {

void stage_actor::start_update(const instruction& i) {
    if (agreement_->take_update())
        return;
    if (norm_.is_shared() && !norm_.squares())
        return norm_.start();
    auto next = std::make_shared<weights_ptr>();
    submit_pass(
        i, {.label = proto::UPDATE_WORK->cStr(),
            .minibatch = state_.traced_minibatch(),
            .version = state_.weights.latest()->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [next, program = options_.program, rule = options_.update.rule,
                     clip = options_.update.clip, squares = norm_.squares(),
                     rate = options_.update.rates(state_.update_position()),
                     current = std::make_shared<weights_ptr>(state_.weights.take()),
                     sum = std::make_shared<std::vector<tensor>>(std::move(state_.gradients))](
                        compute_context& context, copied_weights& copies) -> result<void> {
                if (auto in = copy_to_device(context, *sum); !in)
                    return in;
                auto here = copies.on_device(context, std::exchange(*current, nullptr));
                if (!here)
                    return here.failure();
                copies.forget(); // the next version takes their place
                const auto gradients = std::span{*sum}.first(program->parameters().size());
                if (auto clipped = clip_gradients(context, clip, gradients, squares); !clipped)
                    return clipped;
                auto updated = next_version(context, *program, *rule, std::move(*here), *sum, rate);
                if (!updated)
                    return updated.failure();
                *next = std::move(updated).value();
                return {};
            },
            .then = [this, next] { state_.weights.set(std::move(*next)); }});
    state_.gradients.clear();
    agreement_->update_begun();
    norm_.begin_next();
}

// Other replicas have one minibatch more than this one, in the epoch's last round.
void stage_actor::skip_update() {
    if (agreement_->updates_together())
        return start_update(state_.order.next_update());
    state_.weights.renumber(state_.weights.latest()->version.next());
    finish_update();
    go_on();
}

void stage_actor::finish_update() {
    state_.order.finish(state_.order.next_update(), state_.arrivals.shape());
}

} // namespace troupe
