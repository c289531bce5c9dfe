#include "actors/pipeline/stage/stage_arrivals.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "actors/pipeline/stage/stage_messages.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

std::uint64_t bytes_of(const std::deque<frame_ptr>& frames) {
    std::uint64_t bytes = 0;
    for (const frame_ptr& f : frames)
        for (const tensor& t : f->tensors())
            bytes += t.bytes();
    return bytes;
}

} // namespace

// ---- an epoch -------------------------------------------------------------------------------------------------------

result<bool> stage_arrivals::begin(proto::EpochBegin::Reader body, weight_version latest) {
    if (share_ && rules_.previous.size() > 1 && body.getEpoch() == share_->number())
        return false;
    if (share_)
        return error{errc::protocol, "an epoch begins before this stage is ready for it"};
    if (body.getSamplesPerMinibatch() > limits::batch_max || body.getMinibatches() == 0 ||
        body.getSamplesPerMinibatch() == 0 || body.getMicrobatches() == 0 ||
        body.getSamplesInLast() == 0 || body.getSamplesInLast() > body.getSamplesPerMinibatch())
        return error{errc::protocol,
                     "an epoch without samples, or with impossible minibatches, begins"};
    const epoch_shape whole{body.getMinibatches(), body.getSamplesPerMinibatch(),
                            body.getSamplesInLast(), body.getMinibatches() - 1,
                            body.getMicrobatches()};
    share_.emplace(body.getEpoch(), body.getFirstMinibatch(), whole, rules_.at.replica,
                   rules_.is_dynamic);
    first_version_ = latest;
    ended_by_.clear();
    data_ended_ = false;
    return true;
}

result<bool> stage_arrivals::take_end(const frame& f, const stage_order& order) {
    const auto body = f.body<proto::EndOfData>();
    if (!share_ || data_ended_ || body.getEpoch() != share_->number() ||
        body.getMinibatches() > share_->whole().minibatches)
        return error{errc::protocol, "the end of an epoch arrives that is not running"};
    if (!ended_by_.insert(f.from()).second)
        return error{errc::protocol, "the end of an epoch arrives twice"};
    if (ended_by_.size() < rules_.previous.size())
        return false; // others may still send
    const instruction none_came = due(order);
    share_->end_after(body.getMinibatches(), body.getOwn());
    if (shape().minibatches != none_came.minibatch + (none_came.microbatch > 0 ? 1 : 0))
        return error{errc::protocol, "an epoch ends with more or fewer minibatches than came"};
    data_ended_ = true;
    return true;
}

// ---- activations ----------------------------------------------------------------------------------------------------

result<void> stage_arrivals::take_activation(const frame_ptr& f, const stage_order& order) {
    const auto body = f->body<proto::Activation>();
    if (share_ && rules_.is_dynamic && due(order).microbatch == 0)
        share_->assign(body.getMinibatch());
    if (is_early(body, order)) {
        early_.emplace(body.getMinibatch(), f);
        return {};
    }
    if (auto taken = accept(f, order); !taken)
        return taken;
    while (!early_.empty() && !is_early(early_.begin()->second->body<proto::Activation>(), order))
        if (auto taken = accept(early_.extract(early_.begin()).mapped(), order); !taken)
            return taken;
    return {};
}

// Only a minibatch of this replica can be early.
bool stage_arrivals::is_early(proto::Activation::Reader body, const stage_order& order) const {
    if (rules_.previous.size() < 2 || !share_ || data_ended_ ||
        !share_->contains(body.getMinibatch()))
        return false;
    const std::uint64_t minibatch = body.getMinibatch() - share_->first_minibatch();
    return minibatch % rules_.at.replica.replicas == rules_.at.replica.replica &&
           minibatch / rules_.at.replica.replicas > due(order).minibatch;
}

result<void> stage_arrivals::accept(const frame_ptr& f, const stage_order& order) {
    const auto body = f->body<proto::Activation>();
    if (auto fits = check(body, *f, order); !fits)
        return fits.failure().in("activation of " +
                                 name_of(body.getMinibatch(), body.getMicrobatch()));
    activations_.push_back(f);
    return {};
}

result<void> stage_arrivals::check(proto::Activation::Reader body, const frame& f,
                                   const stage_order& order) const {
    if (!share_ || data_ended_)
        return error{errc::protocol, "arrives outside an epoch"};
    const instruction next = due(order);
    if (next.minibatch >= shape().minibatches)
        return error{errc::protocol, "is more than the epoch has"};
    const std::uint64_t expected =
        share_->is_known(next.minibatch) ? share_->run_minibatch(next.minibatch) : none;
    if (body.getMinibatch() != expected || body.getMicrobatch() != next.microbatch)
        return error{errc::protocol,
                     "arrives where " + name_of(expected, next.microbatch) + " is due"};
    const auto& previous = rules_.previous;
    if (f.from() != previous[share_->replica_of(body.getMinibatch(), previous.size())])
        return error{errc::protocol, "comes from a replica that has not this minibatch"};
    if (auto fits = check_version(body, next.minibatch); !fits)
        return fits;
    return rules_.inputs(f.tensors(), shape().rows_of(next.minibatch, next.microbatch).count);
}

// Checks that the previous stage has computed an activation with the weight version of the schedule.
result<void> stage_arrivals::check_version(proto::Activation::Reader body,
                                           std::uint64_t own) const {
    if (rules_.at.is_first())
        return {};
    const std::uint64_t of_sender = // the minibatch's number in the sender's share
        rules_.at.stages_differ()
            ? (body.getMinibatch() - share_->first_minibatch()) / rules_.previous.size()
            : own;
    const auto& behind = rules_.at.schedule.previous_behind;
    const std::uint32_t microbatch = body.getMicrobatch();
    const std::uint64_t version =
        first_version_.value() +
        version_behind(of_sender, microbatch < behind.size() ? behind[microbatch] : 0);
    if (body.getWeightVersion() == version)
        return {};
    return error{errc::protocol, "was computed with weight version " +
                                     std::to_string(body.getWeightVersion()) +
                                     ", the schedule says " + std::to_string(version)};
}

frame_ptr stage_arrivals::next_activation() {
    frame_ptr f = std::move(activations_.front());
    activations_.pop_front();
    return f;
}

// ---- labels ---------------------------------------------------------------------------------------------------------

result<void> stage_arrivals::take_labels(const frame_ptr& f) {
    const auto body = f->body<proto::Labels>();
    if (!rules_.at.is_last() || labels_.size() >= limits::stage_labels_max)
        return error{errc::protocol, "labels of " +
                                         name_of(body.getMinibatch(), body.getMicrobatch()) +
                                         " arrive where none are due"};
    labels_.push_back(f);
    return {};
}

result<frame_ptr> stage_arrivals::next_labels(const instruction& i) {
    const frame_ptr f = labels_.front();
    const auto body = f->body<proto::Labels>();
    const std::string what = name_of(body.getMinibatch(), body.getMicrobatch());
    const std::uint64_t minibatch = share_->run_minibatch(i.minibatch);
    if (body.getMinibatch() != minibatch || body.getMicrobatch() != i.microbatch)
        return error{errc::protocol, "labels of " + what + " arrive where " +
                                         name_of(minibatch, i.microbatch) + " is due"};
    const std::uint32_t samples = shape().rows_of(i.minibatch, i.microbatch).count;
    if (auto fits = rules_.labels(f->tensors(), samples); !fits)
        return fits.failure().in("labels of " + what);
    labels_.pop_front();
    return f;
}

// ---- gradients ------------------------------------------------------------------------------------------------------

namespace {

std::uint64_t minibatch_of(const frame_ptr& gradient) {
    return gradient->body<proto::Gradient>().getMinibatch();
}

} // namespace

result<void> stage_arrivals::take_gradient(const frame_ptr& f, std::size_t in_flight) {
    const auto body = f->body<proto::Gradient>();
    if (!share_ || rules_.next.empty() || gradients_.size() >= in_flight)
        return error{errc::protocol, "a gradient for " +
                                         name_of(body.getMinibatch(), body.getMicrobatch()) +
                                         " arrives where none is due"};
    auto place = gradients_.end();
    while (rules_.next.size() > 1 && place != gradients_.begin() &&
           minibatch_of(*std::prev(place)) > body.getMinibatch())
        --place;
    gradients_.insert(place, f);
    return {};
}

bool stage_arrivals::has_gradient(const instruction& i) const {
    return !gradients_.empty() &&
           (rules_.next.size() == 1 ||
            minibatch_of(gradients_.front()) <= share_->run_minibatch(i.minibatch));
}

result<frame_ptr> stage_arrivals::next_gradient(const instruction& i, weight_version used) {
    const frame_ptr f = gradients_.front();
    const auto body = f->body<proto::Gradient>();
    const std::string what = "gradient of " + name_of(body.getMinibatch(), body.getMicrobatch());
    const std::uint64_t minibatch = share_->run_minibatch(i.minibatch);
    if (body.getMinibatch() != minibatch || body.getMicrobatch() != i.microbatch)
        return error{errc::protocol,
                     what + " arrives where " + name_of(minibatch, i.microbatch) + " is due"};
    const auto& next = rules_.next;
    if (f->from() != next[share_->replica_of(body.getMinibatch(), next.size())])
        return error{errc::protocol, what + " comes from a replica that has not this minibatch"};
    if (body.getWeightVersion() != used.value())
        return error{errc::protocol, what + " is for weight version " +
                                         std::to_string(body.getWeightVersion()) + ", stashed is " +
                                         std::to_string(used.value())};
    const std::uint32_t samples = shape().rows_of(i.minibatch, i.microbatch).count;
    if (auto fits = rules_.gradients(f->tensors(), samples); !fits)
        return fits.failure().in(what);
    gradients_.pop_front();
    return f;
}

std::uint64_t stage_arrivals::waiting_bytes() const {
    return bytes_of(activations_) + bytes_of(gradients_);
}

} // namespace troupe
