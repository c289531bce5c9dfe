// A stage's place among the stages on its device (device_turns.hpp).
//
// A part of a stage: it knows the stage by stage_port alone. Threads: the stage's.
#pragma once

#include <functional>
#include <optional>

#include "actors/pipeline/stage/device_turns.hpp"
#include "actors/pipeline/stage/stage_port.hpp"

namespace troupe {

class stage_turn {
  public:
    // `handle`: makes the stage's handle.
    stage_turn(stage_port& stage, std::function<self_handle()> handle)
        : stage_{stage}, handle_{std::move(handle)} {}
    stage_turn(const stage_turn&) = delete;
    stage_turn& operator=(const stage_turn&) = delete;
    ~stage_turn(); // leaves the device's turns

    // Tells the others which pass is this stage's next. Called whenever that may have changed.
    void announce();
    // True if the next pass of the device is this stage's.
    bool has_come() const;

  private:
    stage_port& stage_;
    std::function<self_handle()> handle_;
    std::optional<device_turns::pass> announced_;
    std::uint64_t next_epoch_ = 0; // to begin
};

} // namespace troupe
