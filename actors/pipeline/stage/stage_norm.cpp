#include "actors/pipeline/stage/stage_norm.hpp"

#include <string>
#include <utility>

#include "schemas/pipeline.capnp.h"

namespace troupe {

bool stage_norm::is_shared() const {
    const stage_options& options = stage_.options();
    return options.update.clip.norm && options.at.place.stages > 1 &&
           options.at.schedule.is_synchronous;
}

void stage_norm::start() {
    if (norm_.has_own())
        return; // until the sums of the other stages are there
    struct norm_work {
        std::vector<tensor> sum;
        std::vector<double> squares; // of each parameter's gradient
    };
    const stage_options& options = stage_.options();
    stage_state& state = stage_.state();
    auto made = std::make_shared<norm_work>();
    made->sum = std::exchange(state.gradients, {});
    stage_.submit({.label = proto::NORM_WORK->cStr(),
                   .minibatch = state.traced_minibatch(),
                   .version = state.weights.latest()->version,
                   .flops = static_cast<double>(options.program->parameter_bytes()),
                   .work = [made, parameters = options.program->parameters().size()](
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
                           stage_.state().gradients = std::move(made->sum);
                           norm_.set_own(std::move(made->squares));
                           if (stage_.options().at.is_last())
                               norm_.set_later(0);
                           add_up();
                       }});
}

void stage_norm::add_up() {
    const auto squares = norm_.sum();
    if (!squares)
        return;
    if (stage_.options().at.is_first())
        return tell(*squares);
    frame_builder<proto::PartialNorm> partial;
    partial.body().setMinibatch(minibatch());
    partial.body().setSquares(*squares);
    partial.envelope().setWork(minibatch());
    stage_.send(stage_.state().neighbours.previous.front(), std::move(partial));
}

void stage_norm::tell(double squares) {
    norm_.set_all(squares);
    if (stage_.options().at.is_last())
        return;
    frame_builder<proto::GlobalNorm> all;
    all.body().setMinibatch(minibatch());
    all.body().setSquares(squares);
    all.envelope().setWork(minibatch());
    stage_.send(stage_.state().neighbours.next.front(), std::move(all));
}

void stage_norm::take(const frame_ptr& f) {
    const bool is_partial = f->body_type() == type_id_of<proto::PartialNorm>();
    const stage_neighbours& neighbours = stage_.state().neighbours;
    const auto& senders = is_partial ? neighbours.next : neighbours.previous;
    if (stage_.comes_from(sender_among(senders, *f), *f))
        is_partial ? take_partial(*f) : take_global(*f);
}

void stage_norm::take_partial(const frame& f) {
    const auto body = f.body<proto::PartialNorm>();
    const stage_state& state = stage_.state();
    if (!is_shared() || !state.arrivals.is_running() || norm_.has_later() ||
        !state.share().has_minibatch_of(state.order.updates()) ||
        body.getMinibatch() != minibatch())
        return stage_.fail({errc::protocol, "a norm for minibatch " +
                                                std::to_string(body.getMinibatch()) +
                                                " arrives where none is due"});
    norm_.set_later(body.getSquares());
    add_up();
    stage_.go_on();
}

void stage_norm::take_global(const frame& f) {
    const auto body = f.body<proto::GlobalNorm>();
    if (stage_.options().at.is_first() || !norm_.sum() || norm_.all() ||
        body.getMinibatch() != minibatch())
        return stage_.fail({errc::protocol, "the norm of minibatch " +
                                                std::to_string(body.getMinibatch()) +
                                                " arrives where none is due"});
    tell(body.getSquares());
    stage_.go_on();
}

} // namespace troupe
