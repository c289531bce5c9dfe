// The versions of a stage's weights: the latest, and older ones as long as a pass under way needs them.
//
// Weight stashing is a reference: a microbatch in flight holds the version that its forward pass
// used, without the optimizer's state. Nothing is copied; an update writes over the latest version
// exactly when nobody else holds it.
//
// A value, owned by one actor.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/device/device.hpp"
#include "kernels/graph/weights.hpp"

namespace troupe {

// A microbatch of this replica in an epoch: minibatch and microbatch.
using pass_id = std::pair<std::uint64_t, std::uint32_t>;

// Copies in the device's memory that a piece of work has made of weights in host memory; they
// replace these. Written on the device's thread, then read by the actor.
class copied_weights {
  public:
    // The same weights, in the device's memory.
    result<weights_ptr> on_device(compute_context& context, const weights_ptr& w);
    void forget() { copies_.clear(); } // the weights are not needed any more
    bool empty() const noexcept { return copies_.empty(); }
    // These weights with copies in place of the tensors that were copied; the same pointer if none
    // was.
    weights_ptr in(const weights_ptr& w) const;

  private:
    std::vector<std::pair<tensor, tensor>> copies_; // tensor in host memory, its copy
};

class weight_versions {
  public:
    // Null before the stage has weights, and while an update is making the next version.
    const weights_ptr& latest() const noexcept { return latest_; }
    void set(weights_ptr latest);
    // Hands the latest version to an update, its only holder then unless a pass holds it, too, or it
    // is kept.
    weights_ptr take();
    // Keeps so many versions behind the latest for forward passes to come.
    void keep(std::uint32_t behind) { behind_ = behind; }
    // No forward pass will want an older version than the latest: the epoch is over.
    void let_go_of_older() { older_.clear(); }
    // Gives the latest weights another version number.
    void renumber(weight_version version);

    // The weights that are evaluated and saved: between two epochs the consensus of all
    // replicas, where these are not each replica's own.
    const weights_ptr& settled() const noexcept { return common_ ? common_ : latest_; }
    void settle(weights_ptr common) { common_ = std::move(common); }
    void unsettle() { common_.reset(); }

    // The version of this number, for a pass: the latest, one that is kept, or the one that the
    // newest pass holds. It must be there. Two passes may hold weights of one number that differ:
    // replicas that exchange weights change them between two updates.
    weights_ptr find(weight_version version) const;
    // Held for this pass until it lets go.
    const weights_ptr& hold(pass_id p, weight_version version) { return held_[p] = find(version); }
    const weights_ptr& held(pass_id p) const { return held_.at(p); }
    void let_go(pass_id p) { held_.erase(p); }

    void replace(const copied_weights& copies);

    // The number of versions held, and the bytes of their parameters and averages, and of the
    // optimizer's state.
    struct memory_use {
        std::size_t versions = 0;
        std::uint64_t parameter_bytes = 0;
        std::uint64_t state_bytes = 0;
    };
    // `written`: a version that an update is making, which is counted without its bytes.
    memory_use use(std::optional<weight_version> written = std::nullopt) const;

  private:
    weights_ptr latest_, common_;
    std::map<pass_id, weights_ptr> held_;
    std::uint32_t behind_ = 0;
    std::deque<weights_ptr> older_; // that are kept, the oldest first
};

} // namespace troupe
