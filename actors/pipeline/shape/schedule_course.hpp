// The course of an epoch by a table: every device does its steps in their order, each as soon as what it needs is there.
// Discrete events on whole ticks, in time linear in the steps. Pure; the checker finds circles with it, the timeline times.
//
// A forward needs the forward of the stage before it; a backward pass (or its input half) its own forward and that of the
// stage behind it; a weight half its input half; an update the gradients of all microbatches of its stage, of all replicas.
// What another device gives arrives a hop later. Updates take no time.
#pragma once

#include <optional>

#include "actors/pipeline/shape/schedule_table.hpp"

namespace troupe {

// In ticks, by stage number.
struct course_times {
    std::vector<std::int64_t> forward;
    std::vector<std::int64_t> backward_input;
    std::vector<std::int64_t> backward_weight; // a whole backward takes both
    std::int64_t hop = 0;                      // from a device to another
    // An update waits for the gradients of all stages, as a bound on their common norm asks.
    bool updates_wait_for_all = false;
};

struct step_span {
    std::int64_t start = 0;
    std::int64_t end = 0;
};

class schedule_course {
  public:
    // The table names each step of its work once; its stages, devices and microbatches are within its bounds. It outlives
    // the course.
    schedule_course(const schedule_table& table, std::span<const std::uint32_t> microbatches,
                    course_times times);

    // True if all steps could be done; otherwise each blocked device waits for a step of a blocked one.
    bool run();

    const std::vector<epoch_step>& steps(std::uint32_t device) const { return rows_[device].steps; }
    // The times of the steps that were done.
    const std::vector<step_span>& spans(std::uint32_t device) const { return rows_[device].spans; }

    // The step that a blocked device waits for, by its kind, stage, minibatch and microbatch. `backward_input` stands for a
    // whole backward, too; an update stands for the gradients that it needs.
    struct wait {
        epoch_step who;
        step_kind kind = step_kind::forward;
        std::uint32_t stage = 0;
        std::uint64_t minibatch = 0;
        std::uint32_t microbatch = 0;
    };
    std::optional<wait> wait_of(std::uint32_t device) const; // none where it is done

  private:
    struct row {
        std::vector<epoch_step> steps;
        std::vector<step_span> spans;
        std::int64_t free = 0;
        std::uint32_t next_waiting = 0; // a device that waits for the same; see waiting_
    };
    // Numbers of what can be waited for: see the source.
    std::size_t event_of(step_kind kind, std::uint64_t minibatch, std::uint32_t stage,
                         std::uint32_t microbatch) const;
    std::size_t gradients_of(std::uint64_t minibatch, std::uint32_t stage) const;
    template <class Visit>
    bool visit_causes(const epoch_step& step, Visit visit) const;
    void advance(std::uint32_t device);
    void finish(const epoch_step& step, step_span span);
    void occur(std::size_t event, std::int64_t when);
    std::int64_t duration_of(const schedule_step& step) const;

    const schedule_table& table_;
    std::vector<std::uint32_t> microbatches_;
    course_times times_;
    std::vector<row> rows_;
    std::vector<std::int64_t> when_; // by event; -1: not yet
    std::vector<std::uint32_t>
        waiting_; // by event: the first device that waits for it; none: as many as devices
    std::vector<std::uint32_t> missing_; // by event of gradients: steps that are still to come
    std::vector<std::int64_t> latest_;   // likewise: the end of the latest that is there
    std::vector<std::uint32_t> runnable_;
};

} // namespace troupe
