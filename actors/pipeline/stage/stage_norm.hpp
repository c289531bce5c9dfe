// A stage's part in the norm of gradients over all stages, by which a pipeline with a synchronous
// schedule clips: sums of squares go from the last stage to the first as PartialNorm, their total
// back as GlobalNorm.
//
// A part of a stage: it knows the stage by stage_port alone. Threads: the stage's. Errors: a norm
// that is not due ends the stage.
#pragma once

#include "actors/pipeline/stage/shared_norm.hpp"
#include "actors/pipeline/stage/stage_port.hpp"

namespace troupe {

class stage_norm {
  public:
    explicit stage_norm(stage_port& stage) : stage_{stage} {}

    // True if updates clip by this norm. A stage that updates on its own clips by its own norm.
    bool is_shared() const;
    // The square of the norm for the next update; none until it is known, or if it is not shared.
    const std::optional<double>& squares() const noexcept { return norm_.all(); }
    // Computes this stage's own sum, once for each update. The stage's device must be idle.
    void start();
    void begin_next() { norm_.begin_next(); } // the update takes squares() with it

    // Accepts PartialNorm and GlobalNorm.
    void take(const frame_ptr& f);

  private:
    void take_partial(const frame& f);
    void take_global(const frame& f);
    void add_up();
    void tell(double squares);
    std::uint64_t minibatch() const { return stage_.state().update_position(); }

    stage_port& stage_;
    shared_norm norm_; // for the next update
};

} // namespace troupe
