#include "actors/training/run_course.hpp"

#include <utility>

#include "schemas/base/check.hpp"

namespace troupe {

run_course::run_course(const run_course_options& options)
    : options_{options}, phase_{options.measures ? run_phase::measuring : run_phase::placing},
      epoch_{options.epochs_done}, minibatches_done_{options.minibatches_done} {}

std::uint64_t run_course::minibatches_done_of_epoch() const {
    const std::uint64_t before = options_.shape.minibatches_before(epoch_);
    TROUPE_CHECK(minibatches_done_ >= before,
                 "a checkpoint of another batch or data set is refused before");
    return minibatches_done_ - before;
}

bool run_course::may_end_after(std::uint64_t minibatches) const {
    const std::uint64_t left = options_.shape.minibatches_of(epoch_) - minibatches_done_of_epoch();
    return minibatches == left || (stopping_ && minibatches < left);
}

std::size_t run_course::answers() const {
    switch (phase_) {
    case run_phase::placing:
    case run_phase::connecting:
    case run_phase::training:
        return with_replicas_;
    case run_phase::snapshotting:
        return stages_;
    case run_phase::measuring:
    case run_phase::restoring:
    case run_phase::evaluating:
    case run_phase::writing:
        return 1;
    case run_phase::finished:
        break;
    }
    return 0;
}

// In phases that ask the stages of all replicas, only the joining or the remaining replicas have to answer.
bool run_course::is_due(std::size_t placement) const {
    if (phase_ != run_phase::placing && phase_ != run_phase::connecting &&
        phase_ != run_phase::training)
        return true;
    return joining_.empty() ? !lost_.contains(placement) : joining_.contains(placement);
}

bool run_course::awaits(std::size_t stage) const {
    return stage < answers() && is_due(stage) && !answered_.contains(stage);
}

bool run_course::take(run_phase asked, std::size_t stage) {
    return phase_ == asked && awaits(stage) && answered_.insert(stage).second;
}

bool run_course::complete() const {
    for (std::size_t placement = 0; placement < answers(); ++placement)
        if (is_due(placement) && !answered_.contains(placement))
            return false;
    return true;
}

bool run_course::lose_replica(std::size_t replica) {
    const bool was_joining = is_joining(replica);
    for (std::size_t s = 0; s < stages_; ++s)
        lost_.insert(replica * stages_ + s);
    if (was_joining) {
        joining_.clear();
        answered_.clear();
        phase_ = is_last() ? after_epoch() : run_phase::training;
    }
    return was_joining;
}

void run_course::join_replica(std::size_t replica) {
    TROUPE_CHECK(phase_ == run_phase::training && answered_.empty(),
                 "a replica joins between epochs");
    for (std::size_t s = 0; s < stages_; ++s) {
        lost_.erase(replica * stages_ + s);
        joining_.insert(replica * stages_ + s);
    }
    phase_ = run_phase::placing;
}

std::optional<std::size_t> run_course::first_lost() const {
    if (lost_.empty())
        return std::nullopt;
    return *lost_.begin() / stages_;
}

run_phase run_course::advance(std::uint64_t minibatches) {
    TROUPE_CHECK(complete() && phase_ != run_phase::finished, "a phase ends with its last answer");
    answered_.clear();
    switch (phase_) {
    case run_phase::measuring:
        return phase_ = run_phase::placing;
    case run_phase::placing:
        return phase_ = options_.resumes && joining_.empty() ? run_phase::restoring
                                                             : run_phase::connecting;
    case run_phase::restoring:
        return phase_ = run_phase::connecting;
    case run_phase::connecting:
        if (!std::exchange(joining_, {}).empty())
            return phase_ = is_last() ? after_epoch() : run_phase::training;
        return phase_ = is_last() ? run_phase::finished : run_phase::training;
    case run_phase::training:
        TROUPE_CHECK(may_end_after(minibatches), "the caller has asked");
        minibatches_done_ += minibatches;
        // An epoch that a stop has cut short is not evaluated.
        return phase_ = minibatches_done_of_epoch() < options_.shape.minibatches_of(epoch_)
                            ? after_epoch()
                            : run_phase::evaluating;
    case run_phase::evaluating:
        ++epoch_;
        return phase_ = after_epoch();
    case run_phase::snapshotting:
        return phase_ = run_phase::writing;
    case run_phase::writing:
        return phase_ = is_last() ? run_phase::finished : run_phase::training;
    case run_phase::finished:
        break;
    }
    return phase_;
}

run_phase run_course::after_epoch() const {
    if (options_.saves && (is_last() || epoch_ % options_.save_every_epochs == 0))
        return run_phase::snapshotting;
    return is_last() ? run_phase::finished : run_phase::training;
}

bool run_course::stop() {
    return std::exchange(stopping_, true) || (phase_ < run_phase::training && joining_.empty());
}

} // namespace troupe
