#include <iterator>
#include <string>

#include "actors/pipeline/stage_actor.hpp"
#include "actors/pipeline/stage_messages.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

// ---- what arrives -------------------------------------------------------------------------------------------------

void stage_actor::begin_epoch(proto::EpochBegin::Reader body, const frame& f) {
    if (!comes_from_one_of(previous_, f))
        return;
    if (epoch_ && previous_.size() > 1 && body.getEpoch() == epoch_->number)
        return; // another replica of the stage before says so, too
    if (!latest_ || epoch_)
        return fail({errc::protocol, "an epoch begins before this stage is ready for it"});
    if (body.getSamplesPerMinibatch() > limits::batch_max || body.getMinibatches() == 0 ||
        body.getSamplesPerMinibatch() == 0 || body.getMicrobatches() == 0 ||
        body.getSamplesInLast() == 0 || body.getSamplesInLast() > body.getSamplesPerMinibatch())
        return fail(
            {errc::protocol, "an epoch without samples, or with impossible minibatches, begins"});
    epoch_.emplace();
    epoch_->number = body.getEpoch();
    epoch_->first_minibatch = body.getFirstMinibatch();
    epoch_->first_version = latest_->version;
    epoch_->whole = {body.getMinibatches(), body.getSamplesPerMinibatch(), body.getSamplesInLast(),
                     body.getMinibatches() - 1, body.getMicrobatches()};
    epoch_->shape = is_dealt() ? epoch_->whole : share_of(epoch_->whole, options_.replica);
    if (is_dealt())
        epoch_->shape.last = none; // unless it is dealt to this replica
    common_.reset();
    is_fresh_ = !options_.cache && !(options_.peer && options_.sync.exchange->has_common);
    if (options_.cache)
        latest_ = for_passes(*latest_);
    epoch_->began = now();
    send_begin(body);
    if (options_.cache)
        enter_server();
}

void stage_actor::send_begin(proto::EpochBegin::Reader body) {
    for (const actor_address next : next_) {
        frame_builder<proto::EpochBegin> onward;
        onward.body().setEpoch(body.getEpoch());
        onward.body().setFirstMinibatch(body.getFirstMinibatch());
        onward.body().setMinibatches(body.getMinibatches());
        onward.body().setSamplesPerMinibatch(body.getSamplesPerMinibatch());
        onward.body().setSamplesInLast(body.getSamplesInLast());
        onward.body().setMicrobatches(body.getMicrobatches());
        send(next, std::move(onward));
    }
}

void stage_actor::admit(proto::Activation::Reader body, const frame& f) {
    if (!comes_from_one_of(previous_, f))
        return;
    if (epoch_ && is_dealt())
        take_dealt(body.getMinibatch());
    if (is_early(body)) {
        early_.emplace(body.getMinibatch(), current());
        return;
    }
    if (auto taken = take_activation(current()); !taken)
        return fail(taken.failure());
    while (!early_.empty() && !is_early(early_.begin()->second->body<proto::Activation>()))
        if (auto taken = take_activation(early_.extract(early_.begin()).mapped()); !taken)
            return fail(taken.failure());
    advance();
}

result<void> stage_actor::take_activation(const frame_ptr& f) {
    const auto body = f->body<proto::Activation>();
    if (auto fits = check_activation(body, *f); !fits)
        return fits.failure().in("activation of " +
                                 name_of(body.getMinibatch(), body.getMicrobatch()));
    activations_.push_back(f);
    return {};
}

// Whether it has overtaken another replica's of the stage before, and waits for it: only a minibatch of this replica, once.
bool stage_actor::is_early(proto::Activation::Reader body) const {
    if (previous_.size() < 2 || !epoch_ || epoch_->data_ended)
        return false;
    const std::uint64_t due = next_activation().forward_minibatch;
    const std::uint64_t minibatch = body.getMinibatch() - epoch_->first_minibatch;
    return body.getMinibatch() >= epoch_->first_minibatch &&
           minibatch < epoch_->whole.minibatches &&
           minibatch % options_.replica.replicas == options_.replica.replica &&
           minibatch / options_.replica.replicas > due;
}

// A minibatch that is dealt to this replica is any that comes after those before.
void stage_actor::take_dealt(std::uint64_t minibatch) {
    const std::uint64_t first = epoch_->first_minibatch;
    if (next_activation().forward_microbatch > 0 || minibatch < first ||
        minibatch - first >= epoch_->whole.minibatches ||
        (!epoch_->dealt.empty() && minibatch <= epoch_->dealt.back()))
        return; // not a new one: check_activation says what is due
    if (minibatch - first == epoch_->whole.last)
        epoch_->shape.last = epoch_->dealt.size();
    epoch_->dealt.push_back(minibatch);
}

// Where the next activation belongs: they come in the order of the schedule's forward passes, and those under way and
// waiting are the next ones after those done.
schedule_position stage_actor::next_activation() const {
    schedule_position at = epoch_->position;
    if (running_ && running_->what && running_->what->what == pass::forward)
        at = position_after(*running_->what, epoch_->shape, at);
    for (std::size_t waiting = 0; waiting < activations_.size(); ++waiting)
        at = position_after({pass::forward, at.forward_minibatch, at.forward_microbatch},
                            epoch_->shape, at);
    return at;
}

std::uint64_t stage_actor::minibatches_admitted() const {
    const schedule_position at = next_activation();
    return at.forward_minibatch + (at.forward_microbatch > 0 ? 1 : 0);
}

result<void> stage_actor::check_activation(proto::Activation::Reader body, const frame& f) const {
    if (!epoch_ || epoch_->data_ended)
        return error{errc::protocol, "arrives outside an epoch"};
    const schedule_position at = next_activation();
    if (at.forward_minibatch >= epoch_->shape.minibatches)
        return error{errc::protocol, "is more than the epoch has"};
    const std::uint64_t expected = is_dealt() && at.forward_minibatch >= epoch_->dealt.size()
                                       ? none
                                       : run_minibatch(at.forward_minibatch);
    if (body.getMinibatch() != expected || body.getMicrobatch() != at.forward_microbatch)
        return error{errc::protocol,
                     "arrives where " + name_of(expected, at.forward_microbatch) + " is due"};
    if (f.from() != replica_of(previous_, body.getMinibatch()))
        return error{errc::protocol, "comes from a replica that has not this minibatch"};
    if (!is_first()) {
        stage_place sender{options_.place.stage - 1, options_.place.stages};
        std::uint64_t minibatch = at.forward_minibatch; // of the sender's share
        if (stages_differ()) {
            sender.warm_up = options_.warm_ups[sender.stage];
            minibatch = (expected - epoch_->first_minibatch) / previous_.size();
        }
        const std::uint64_t version =
            epoch_->first_version.value() + version_used(options_.schedule, sender, minibatch);
        if (body.getWeightVersion() != version)
            return error{errc::protocol, "was computed with weight version " +
                                             std::to_string(body.getWeightVersion()) +
                                             ", the schedule says " + std::to_string(version)};
    }
    const std::uint32_t samples =
        epoch_->shape.rows_of(at.forward_minibatch, at.forward_microbatch).count;
    return from_previous_ ? from_previous_->check(f.tensors(), samples)
                          : options_.program->check_inputs(f.tensors(), samples);
}

void stage_actor::admit_gradient(proto::Gradient::Reader body, const frame& f) {
    if (!comes_from_one_of(next_, f))
        return;
    if (!epoch_ || is_last() || gradients_.size() >= stash_.size())
        return fail({errc::protocol, "a gradient for " +
                                         name_of(body.getMinibatch(), body.getMicrobatch()) +
                                         " arrives where none is due"});
    const auto minibatch_of = [](const frame_ptr& g) {
        return g->body<proto::Gradient>().getMinibatch();
    };
    auto place = gradients_.end();
    while (next_.size() > 1 && place != gradients_.begin() &&
           minibatch_of(*std::prev(place)) > body.getMinibatch())
        --place;
    gradients_.insert(place, current());
    advance();
}

void stage_actor::admit_labels(proto::Labels::Reader body, const frame& f) {
    if (!comes_from(source_, f))
        return;
    if (!is_last() || labels_.size() >= limits::stage_labels_max)
        return fail({errc::protocol, "labels of " +
                                         name_of(body.getMinibatch(), body.getMicrobatch()) +
                                         " arrive where none are due"});
    // Before EpochBegin has come down the pipeline, too: they take the short way.
    labels_.push_back(current());
    advance();
}

void stage_actor::end_data(proto::EndOfData::Reader body, const frame& f) {
    if (!comes_from_one_of(previous_, f))
        return;
    if (!epoch_ || epoch_->data_ended || body.getEpoch() != epoch_->number ||
        body.getMinibatches() > epoch_->whole.minibatches)
        return fail({errc::protocol, "the end of an epoch arrives that is not running"});
    if (!epoch_->ended_by.insert(f.from()).second)
        return fail({errc::protocol, "the end of an epoch arrives twice"});
    if (epoch_->ended_by.size() < previous_.size())
        return; // others may still send
    epoch_->whole.minibatches = body.getMinibatches();
    if (is_dealt())
        epoch_->shape.minibatches = body.getOwn();
    else
        epoch_->shape = share_of(epoch_->whole, options_.replica);
    if (epoch_->shape.minibatches != minibatches_admitted())
        return fail({errc::protocol, "an epoch ends with more or fewer minibatches than came"});
    epoch_->data_ended = true;
    advance();
}

} // namespace troupe
