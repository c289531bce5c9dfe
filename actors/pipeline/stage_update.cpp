#include <algorithm>
#include <utility>

#include "actors/pipeline/stage_actor.hpp"
#include "actors/pipeline/stage_messages.hpp"

namespace troupe {

// ---- updates ------------------------------------------------------------------------------------------------------

void stage_actor::start_update(const instruction& i) {
    if (options_.cache)
        return offer(i);
    if (options_.reducer && options_.sync.sums_gradients && !summed_) {
        TROUPE_CHECK(gradient_sum_.empty(), "what there is to sum went with the backward pass");
        begin_reduction(scale_of_gradients());
        return give(0, {});
    }
    if (shares_norm() && !norm_.own)
        return start_norm();
    if (shares_norm() && !norm_.all)
        return; // until the other stages have said theirs
    submit({.what = i,
            .label = proto::UPDATE_WORK->cStr(),
            .minibatch = minibatch_id{own_minibatch_of_update()},
            .version = latest_->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [program = options_.program, rule = options_.rule, clip = options_.clip,
                     squares = norm_.all,
                     rate = options_.rates({epoch_->number, minibatch_of_update()}),
                     current = std::make_shared<weights_ptr>(std::move(latest_)),
                     sum = std::make_shared<std::vector<tensor>>(std::move(gradient_sum_))](
                        compute_context& context, work_results& out) -> result<void> {
                if (auto in = bring_in(context, *sum); !in)
                    return in;
                auto here = out.here(context, std::exchange(*current, nullptr));
                if (!here)
                    return here.failure();
                out.moved_in.clear(); // the next version takes their place
                const auto gradients = std::span{*sum}.first(program->parameters().size());
                if (auto clipped = clip_gradients(context, clip, gradients, squares); !clipped)
                    return clipped;
                auto updated = next_version(context, *program, *rule, std::move(*here), *sum, rate);
                if (!updated)
                    return updated.failure();
                out.weights = std::move(updated).value();
                return {};
            },
            .then = [this, i] { finish_update(i); }});
    latest_.reset();
    gradient_sum_.clear();
    summed_ = false;
    norm_ = {};
}

void stage_actor::finish_update(const instruction&) {
    latest_ = std::move(results_->weights);
}

// ---- agreement with the other replicas ------------------------------------------------------------------------------

// The others have a minibatch more than this replica in the epoch's last round.
void stage_actor::update_with_nothing() {
    const instruction i{pass::update, epoch_->position.updates, 0};
    if ((options_.reducer && options_.sync.sums_gradients) || options_.cache)
        return start_update(i);
    auto same = std::make_shared<weights>(*latest_);
    same->version = same->version.next();
    latest_ = std::move(same);
    epoch_->position = position_after(i, epoch_->shape, epoch_->position);
    advance();
}

// Whether the sum over the replicas begins during this backward pass: the last one before an update.
bool stage_actor::sums_during(const instruction& backward) const {
    return options_.reducer && options_.sync.sums_gradients &&
           epoch_->position.backward_count + 1 == epoch_->shape.microbatches_of(backward.minibatch);
}

void stage_actor::begin_reduction(float scale) {
    reducing_ = reductions_++;
    reduction_scale_ = scale;
}

void stage_actor::gradients_ready(proto::GradientsReady::Reader body, const frame& f) {
    if (!comes_from(self(), f) || !reducing_)
        return;
    give(options_.program->averages().size() + body.getFirst(), tensors_of(f));
}

// Averages come before parameters: in a backward pass they are ready last.
void stage_actor::give(std::size_t first, std::vector<tensor> own) {
    frame_builder<proto::Reduce> request;
    request.body().setReduction(*reducing_);
    request.body().setScale(reduction_scale_);
    request.body().setFirst(static_cast<std::uint32_t>(first));
    request.envelope().setMinibatch(own_minibatch_of_update());
    for (tensor& t : own)
        request.attach(std::move(t));
    send(options_.reducer, std::move(request));
}

void stage_actor::reduced(proto::Reduced::Reader body, const frame& f) {
    if (!comes_from(options_.reducer, f))
        return;
    TROUPE_CHECK(reducing_ && body.getReduction() == *reducing_,
                 "a reducer answers what it was asked");
    reducing_.reset();
    gradient_sum_ = tensors_of(f);
    std::ranges::rotate(gradient_sum_,
                        gradient_sum_.begin() +
                            static_cast<std::ptrdiff_t>(options_.program->averages().size()));
    summed_ = true;
    advance();
}

// ---- the norm over all stages ---------------------------------------------------------------------------------------

// Where each stage updates on its own, it clips by its own norm.
bool stage_actor::shares_norm() const {
    return options_.clip.norm && options_.place.stages > 1 && is_synchronous(options_.schedule);
}

void stage_actor::start_norm() {
    submit({.label = proto::NORM_WORK->cStr(),
            .minibatch = minibatch_id{own_minibatch_of_update()},
            .version = latest_->version,
            .flops = static_cast<double>(options_.program->parameter_bytes()),
            .work = [parameters = options_.program->parameters().size(),
                     sum = std::make_shared<std::vector<tensor>>(std::move(gradient_sum_))](
                        compute_context& context, work_results& out) -> result<void> {
                if (auto in = bring_in(context, *sum); !in)
                    return in;
                auto squares = squares_of(context, std::span{*sum}.first(parameters));
                if (!squares)
                    return squares.failure();
                out.squares = std::move(squares).value();
                out.gradient_sum = std::move(*sum);
                return {};
            },
            .then =
                [this] {
                    gradient_sum_ = std::move(results_->gradient_sum);
                    norm_.own = std::move(results_->squares);
                    if (is_last())
                        norm_.later = 0;
                    add_to_norm();
                }});
    gradient_sum_.clear();
}

void stage_actor::add_to_norm() {
    if (!norm_.own || !norm_.later)
        return;
    const double squares = add_squares(*norm_.later, *norm_.own);
    if (is_first())
        return tell_norm(squares);
    frame_builder<proto::PartialNorm> partial;
    partial.body().setMinibatch(minibatch_of_update());
    partial.body().setSquares(squares);
    partial.envelope().setMinibatch(minibatch_of_update());
    send(previous_[0], std::move(partial));
}

void stage_actor::admit_partial_norm(proto::PartialNorm::Reader body, const frame& f) {
    if (!comes_from_one_of(next_, f))
        return;
    if (!shares_norm() || !epoch_ || norm_.later ||
        epoch_->position.updates >= (is_dealt() ? epoch_->dealt.size() : updates_of_epoch()) ||
        body.getMinibatch() != minibatch_of_update())
        return fail({errc::protocol, "a norm for minibatch " + std::to_string(body.getMinibatch()) +
                                         " arrives where none is due"});
    norm_.later = body.getSquares();
    add_to_norm();
    advance();
}

void stage_actor::tell_norm(double squares) {
    norm_.all = squares;
    if (is_last())
        return;
    frame_builder<proto::GlobalNorm> all;
    all.body().setMinibatch(minibatch_of_update());
    all.body().setSquares(squares);
    all.envelope().setMinibatch(minibatch_of_update());
    send(next_[0], std::move(all));
}

void stage_actor::admit_global_norm(proto::GlobalNorm::Reader body, const frame& f) {
    if (!comes_from_one_of(previous_, f))
        return;
    const bool has_said_its_own = norm_.own && norm_.later; // never true where none is shared
    if (is_first() || !has_said_its_own || norm_.all ||
        body.getMinibatch() != minibatch_of_update())
        return fail({errc::protocol, "the norm of minibatch " +
                                         std::to_string(body.getMinibatch()) +
                                         " arrives where none is due"});
    tell_norm(body.getSquares());
    advance();
}

} // namespace troupe
