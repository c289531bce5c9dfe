// What has come to a stage and is not computed yet, and what is due next. A value: no actor, no
// device.
//
// Activations are taken in the order of the schedule's forward passes. One that has overtaken
// another replica's of the stage before is kept until its turn. Gradients of several replicas wait
// in the order of their minibatches. Labels, which go the short way from the data source, may come
// before the epoch that they belong to has begun here.
//
// Errors: what cannot be due, or does not fit: errc::protocol, with a sentence.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "actors/pipeline/epoch_share.hpp"
#include "actors/pipeline/schedule.hpp"
#include "schemas/pipeline.capnp.h"
#include "transport/frame/frame.hpp"

namespace troupe {

// Whether tensors that stand for so many samples are what a pass takes.
using tensors_check =
    std::function<result<void>(std::span<const tensor> tensors, std::uint32_t samples)>;

struct arrival_rules {
    proto::PipelineSchedule schedule = proto::PipelineSchedule::PIPEDREAM;
    stage_place place;
    replica_place replica;
    std::vector<std::uint32_t> warm_ups; // of every stage, where they differ in replicas
    bool is_dynamic = false;             // minibatches are assigned as they come
    std::vector<actor_address> previous; // one, or where stages differ all replicas by number
    std::vector<actor_address> next;     // likewise; none of the last stage
    tensors_check inputs, labels, gradients;
};

class stage_arrivals {
  public:
    explicit stage_arrivals(arrival_rules rules = {}) : rules_{std::move(rules)} {}

    // ---- an epoch ----

    // False: another replica of the stage before has said so already.
    result<bool> begin(proto::EpochBegin::Reader body, weight_version latest);
    bool is_running() const noexcept { return share_.has_value(); }
    const epoch_share& share() const { return *share_; } // of the epoch that runs
    const epoch_shape& shape() const { return share_->shape(); }
    weight_version first_version() const noexcept { return first_version_; }
    bool data_has_ended() const noexcept { return data_ended_; }
    void end() { share_.reset(); } // the epoch is over here

    // ---- what comes ----

    result<void> take_activation(const frame_ptr& f);
    // `in_flight`: microbatches whose forward pass has begun and whose backward pass has not.
    result<void> take_gradient(const frame_ptr& f, std::size_t in_flight);
    result<void> take_labels(const frame_ptr& f);
    // True: all of the stage before have said so.
    result<bool> take_end(const frame& f);

    // ---- what is computed next ----

    bool has_activation() const noexcept { return !activations_.empty(); }
    bool has_labels() const noexcept { return !labels_.empty(); }
    // Whether the gradient of this pass is there; one of a replica that is ahead of others waits.
    bool has_gradient(const instruction& i) const;
    frame_ptr next_activation();
    result<frame_ptr> next_labels(const instruction& i);
    // `used`: the version that the pass's forward pass used.
    result<frame_ptr> next_gradient(const instruction& i, weight_version used);

    // For people: what waits, and its tensors' bytes.
    std::size_t waiting() const noexcept { return activations_.size() + gradients_.size(); }
    std::uint64_t waiting_bytes() const;

  private:
    bool is_early(proto::Activation::Reader body) const;
    result<void> accept(const frame_ptr& f);
    result<void> check(proto::Activation::Reader body, const frame& f) const;
    result<void> check_version(proto::Activation::Reader body, std::uint64_t own) const;
    bool stages_differ() const noexcept { return !rules_.warm_ups.empty(); }

    arrival_rules rules_;
    std::optional<epoch_share> share_;
    weight_version first_version_;
    schedule_position due_;            // the forward pass of the next activation
    std::set<actor_address> ended_by_; // of the stage before
    bool data_ended_ = false;
    std::deque<frame_ptr> activations_;
    std::map<std::uint64_t, frame_ptr> early_; // by minibatch of the run
    std::deque<frame_ptr> labels_, gradients_;
};

} // namespace troupe
