#include "actors/pipeline/shape/epoch_share.hpp"

#include "schemas/base/ids.hpp"

namespace troupe {

epoch_share::epoch_share(std::uint32_t number, std::uint64_t first_minibatch, epoch_shape whole,
                         replica_place at, bool is_dynamic)
    : number_{number}, first_minibatch_{first_minibatch}, whole_{whole}, shape_{whole}, at_{at},
      is_dynamic_{is_dynamic} {
    if (!is_dynamic)
        shape_ = share_of(whole, at);
    else
        shape_.last = none; // until that minibatch is assigned to this replica
}

std::uint64_t epoch_share::run_minibatch(std::uint64_t own) const {
    return is_dynamic_ ? assigned_[own] : first_minibatch_ + at_.replica + own * at_.replicas;
}

std::uint64_t epoch_share::updates() const noexcept {
    return is_dynamic_ ? shape_.minibatches : rounds_of(whole_, at_.replicas);
}

bool epoch_share::has_minibatch_of(std::uint64_t update) const noexcept {
    return update < (is_dynamic_ ? assigned_.size() : updates());
}

std::uint64_t epoch_share::minibatch_of(std::uint64_t update) const {
    return is_dynamic_ ? assigned_[update] : first_minibatch_ + update * at_.replicas;
}

std::uint64_t epoch_share::own_minibatch_of(std::uint64_t update) const {
    return update < shape_.minibatches ? run_minibatch(update) : minibatch_of(update);
}

std::uint64_t epoch_share::minibatch_of_last(std::uint64_t updates) const {
    return updates == 0 ? first_minibatch_ : minibatch_of(updates - 1);
}

void epoch_share::assign(std::uint64_t minibatch) {
    if (!contains(minibatch) || (!assigned_.empty() && minibatch <= assigned_.back()))
        return;
    if (minibatch - first_minibatch_ == whole_.last)
        shape_.last = assigned_.size();
    assigned_.push_back(minibatch);
}

void epoch_share::end_after(std::uint64_t minibatches, std::uint64_t own) {
    whole_.minibatches = minibatches;
    if (is_dynamic_)
        shape_.minibatches = own;
    else
        shape_ = share_of(whole_, at_);
}

} // namespace troupe
