// A stage's updates, and the norm over all stages that comes before them.
#include <string>

#include "actors/pipeline/stage_actor.hpp"
#include "schemas/pipeline.capnp.h"

namespace troupe {

// ---- updates --------------------------------------------------------------------------------------------------------

void stage_actor::start_update(const instruction& i) {
    if (agreement_->take_update())
        return;
    if (shares_norm() && !norm_.has_own())
        return start_norm();
    if (shares_norm() && !norm_.all())
        return; // until the sums of the other stages are there
    auto next = std::make_shared<weights_ptr>();
    submit_pass(
        i, {.label = proto::UPDATE_WORK->cStr(),
            .minibatch = state_.traced_minibatch(),
            .version = state_.weights.latest()->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [next, program = options_.program, rule = options_.rule, clip = options_.clip,
                     squares = norm_.all(), rate = options_.rates(state_.update_position()),
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
    const instruction i{pass::update, state_.position.updates, 0};
    if (agreement_->updates_together())
        return start_update(i);
    state_.weights.renumber(state_.weights.latest()->version.next());
    state_.position = position_after(i, state_.arrivals.shape(), state_.position);
    go_on();
}

// ---- the norm over all stages ---------------------------------------------------------------------------------------

// A stage that updates on its own clips by its own norm.
bool stage_actor::shares_norm() const {
    return options_.clip.norm && options_.place.stages > 1 && is_synchronous(options_.schedule);
}

void stage_actor::start_norm() {
    struct norm_work {
        std::vector<tensor> sum;
        std::vector<double> squares; // of each parameter's gradient
    };
    auto made = std::make_shared<norm_work>();
    made->sum = std::exchange(state_.gradients, {});
    submit({.label = proto::NORM_WORK->cStr(),
            .minibatch = state_.traced_minibatch(),
            .version = state_.weights.latest()->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [made, parameters = options_.program->parameters().size()](
                        compute_context& context, copied_weights&) -> result<void> {
                if (auto in = copy_to_device(context, made->sum); !in)
                    return in;
                auto squares = squares_of(context, std::span{made->sum}.first(parameters));
                if (!squares)
                    return squares.failure();
                made->squares = std::move(squares).value();
                return {};
            },
            .then =
                [this, made] {
                    state_.gradients = std::move(made->sum);
                    norm_.set_own(std::move(made->squares));
                    if (options_.is_last())
                        norm_.set_later(0);
                    add_to_norm();
                }});
}

void stage_actor::add_to_norm() {
    const auto squares = norm_.sum();
    if (!squares)
        return;
    if (options_.is_first())
        return tell_norm(*squares);
    const std::uint64_t minibatch = state_.update_position().minibatch;
    frame_builder<proto::PartialNorm> partial;
    partial.body().setMinibatch(minibatch);
    partial.body().setSquares(*squares);
    partial.envelope().setMinibatch(minibatch);
    send(previous_[0], std::move(partial));
}

void stage_actor::partial_norm(proto::PartialNorm::Reader body, const frame& f) {
    if (!comes_from_one_of(next_, f))
        return;
    if (!shares_norm() || !state_.arrivals.is_running() || norm_.has_later() ||
        !state_.share().has_minibatch_of(state_.position.updates) ||
        body.getMinibatch() != state_.update_position().minibatch)
        return fail({errc::protocol, "a norm for minibatch " + std::to_string(body.getMinibatch()) +
                                         " arrives where none is due"});
    norm_.set_later(body.getSquares());
    add_to_norm();
    go_on();
}

void stage_actor::tell_norm(double squares) {
    norm_.set_all(squares);
    if (options_.is_last())
        return;
    const std::uint64_t minibatch = state_.update_position().minibatch;
    frame_builder<proto::GlobalNorm> all;
    all.body().setMinibatch(minibatch);
    all.body().setSquares(squares);
    all.envelope().setMinibatch(minibatch);
    send(next_[0], std::move(all));
}

void stage_actor::global_norm(proto::GlobalNorm::Reader body, const frame& f) {
    if (!comes_from_one_of(previous_, f))
        return;
    if (options_.is_first() || !norm_.sum() || norm_.all() ||
        body.getMinibatch() != state_.update_position().minibatch)
        return fail({errc::protocol, "the norm of minibatch " +
                                         std::to_string(body.getMinibatch()) +
                                         " arrives where none is due"});
    tell_norm(body.getSquares());
    go_on();
}

} // namespace troupe
