// The messages that have arrived at a stage and wait for their passes. A value: no actor, no device. The stage's order
// (stage_order.hpp) says which one is due.
//
// Activations are accepted in the order of the schedule's forward passes. One that has overtaken
// another replica's of the previous stage is kept until its turn. Gradients of several replicas wait
// in the order of their minibatches. Labels, which come straight from the data source, may arrive
// before their epoch has begun here.
//
// Errors: errc::protocol, with the reason, for a message that cannot be due or does not fit.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "actors/pipeline/shape/epoch_share.hpp"
#include "actors/pipeline/shape/pipeline_place.hpp"
#include "actors/pipeline/shape/stage_order.hpp"
#include "schemas/pipeline.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

// Checks that tensors are the inputs of a pass for `samples` samples.
using tensors_check =
    std::function<result<void>(std::span<const tensor> tensors, std::uint32_t samples)>;

struct arrival_rules {
    pipeline_place at;
    bool is_dynamic = false;             // minibatches are assigned dynamically
    std::vector<actor_address> previous; // one; where stages differ in replicas, all, by replica
    std::vector<actor_address> next;     // likewise; empty at the last stage
    tensors_check inputs, labels, gradients;
};

class stage_arrivals {
  public:
    explicit stage_arrivals(arrival_rules rules = {}) : rules_{std::move(rules)} {}

    // ---- an epoch ----

    // False: another replica of the previous stage has begun the epoch already.
    result<bool> begin(proto::EpochBegin::Reader body, weight_version latest);
    bool is_running() const noexcept { return share_.has_value(); }
    const epoch_share& share() const { return *share_; } // of the running epoch
    const epoch_shape& shape() const { return share_->shape(); }
    weight_version first_version() const noexcept { return first_version_; }
    bool data_has_ended() const noexcept { return data_ended_; }
    void end() { share_.reset(); } // the epoch is over here

    // ---- arrivals ----

    result<void> take_activation(const frame_ptr& f, const stage_order& order);
    // `in_flight`: microbatches whose forward pass has begun and whose backward pass has not ended.
    result<void> take_gradient(const frame_ptr& f, std::size_t in_flight);
    result<void> take_labels(const frame_ptr& f);
    // True: all replicas of the previous stage have ended the epoch's data.
    result<bool> take_end(const frame& f, const stage_order& order);

    // ---- inputs of the next passes ----

    bool has_activation() const noexcept { return !activations_.empty(); }
    bool has_labels() const noexcept { return !labels_.empty(); }
    // True if the gradient for this pass is there; one from a replica that is ahead of others waits.
    bool has_gradient(const instruction& i) const;
    frame_ptr next_activation();
    result<frame_ptr> next_labels(const instruction& i);
    // `used`: the version that the pass's forward pass used.
    result<frame_ptr> next_gradient(const instruction& i, weight_version used);

    // For error messages: the number of messages that wait, and the bytes of their tensors.
    std::size_t waiting() const noexcept { return activations_.size() + gradients_.size(); }
    std::uint64_t waiting_bytes() const;

  private:
    // The forward pass of the next activation that is accepted.
    instruction due(const stage_order& order) const {
        return order.expected_activation(activations_.size(), shape());
    }
    bool is_early(proto::Activation::Reader body, const stage_order& order) const;
    result<void> accept(const frame_ptr& f, const stage_order& order);
    result<void> check(proto::Activation::Reader body, const frame& f,
                       const stage_order& order) const;
    result<void> check_version(proto::Activation::Reader body, std::uint64_t own) const;

    arrival_rules rules_;
    std::optional<epoch_share> share_;
    weight_version first_version_;
    std::set<actor_address> ended_by_; // replicas of the previous stage that have sent EndOfData
    bool data_ended_ = false;
    std::deque<frame_ptr> activations_;
    std::map<std::uint64_t, frame_ptr> early_; // activations, by minibatch of the run
    std::deque<frame_ptr> labels_, gradients_;
};

} // namespace troupe
