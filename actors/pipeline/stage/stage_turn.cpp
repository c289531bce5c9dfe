#include "actors/pipeline/stage/stage_turn.hpp"

namespace troupe {

void stage_turn::announce() {
    const stage_options& options = stage_.options();
    if (!options.turns)
        return;
    const stage_state& state = stage_.state();
    std::uint64_t epoch = next_epoch_;
    auto at = state.order.first_pass();
    if (state.arrivals.is_running()) {
        next_epoch_ = state.share().number() + std::uint64_t{1};
        const auto next = state.order.next_pass(state.arrivals.shape());
        epoch = next ? state.share().number() : next_epoch_;
        at = next.value_or(at);
    }
    const device_turns::pass next{epoch, at.round, options.at.schedule.turns.places[at.step]};
    if (announced_ == next)
        return;
    announced_ = next;
    options.turns->announce(options.at.place.stage, next, handle_());
}

stage_turn::~stage_turn() {
    if (announced_)
        stage_.options().turns->leave(stage_.options().at.place.stage);
}

bool stage_turn::has_come() const {
    const auto& turns = stage_.options().turns;
    return !turns || turns->has_turn(stage_.options().at.place.stage);
}

} // namespace troupe
