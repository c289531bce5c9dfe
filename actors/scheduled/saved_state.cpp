#include "actors/scheduled/saved_state.hpp"

#include "schemas/base/limits.hpp"

namespace troupe::scheduled {

namespace {

void write_phase(proto::SavedPhase::Builder to, std::uint64_t number, bool is_probe,
                 const payload& content, std::vector<tensor>& tensors) {
    to.setNumber(number);
    to.setProbe(is_probe);
    to.setTensors(static_cast<std::uint16_t>(content.size()));
    tensors.insert(tensors.end(), content.begin(), content.end());
}

// Takes tensors from the front, one list after the other.
class tensor_taker {
  public:
    explicit tensor_taker(std::span<const tensor> all) : left_{all} {}

    bool has(std::size_t count) const noexcept { return count <= left_.size(); }
    payload take(std::size_t count) {
        const auto front = left_.first(count);
        left_ = left_.subspan(count);
        return {front.begin(), front.end()};
    }
    bool is_empty() const noexcept { return left_.empty(); }

  private:
    std::span<const tensor> left_;
};

const error too_few{errc::protocol, "a saved state has other tensors than it lists"};

} // namespace

void write_state(proto::SavedState::Builder to, const saved_state& state,
                 std::vector<tensor>& tensors) {
    to.setNumber(state.number);
    to.setMilestones(state.milestones);
    to.setStopsAt(state.end.phase);
    to.setDone(state.end.is_done);
    auto names = to.initNames(static_cast<capnp::uint>(state.part.names.size()));
    for (capnp::uint i = 0; i < names.size(); ++i)
        names.set(i, state.part.names[i]);
    tensors.insert(tensors.end(), state.part.tensors.begin(), state.part.tensors.end());
    auto phases = to.initPhases(static_cast<capnp::uint>(state.phases.size()));
    for (capnp::uint i = 0; i < phases.size(); ++i)
        write_phase(phases[i], state.phases[i].number, state.phases[i].is_probe,
                    state.phases[i].content, tensors);
    auto deltas = to.initDeltas(static_cast<capnp::uint>(state.deltas.size()));
    for (capnp::uint i = 0; i < deltas.size(); ++i)
        write_phase(deltas[i], state.deltas[i].number, false, state.deltas[i].changes, tensors);
    auto blocks = to.initBlocks(static_cast<capnp::uint>(state.blocks.size()));
    for (capnp::uint i = 0; i < blocks.size(); ++i) {
        const held_block& block = state.blocks[i];
        blocks[i].setBlock(block.number);
        blocks[i].setTurn(block.turn);
        blocks[i].setTensors(static_cast<std::uint16_t>(block.content.size()));
        tensors.insert(tensors.end(), block.content.begin(), block.content.end());
    }
}

result<saved_state> read_state(proto::SavedState::Reader from, std::span<const tensor> tensors) {
    saved_state state;
    state.number = from.getNumber();
    state.milestones = from.getMilestones();
    state.end = {from.getStopsAt(), from.getDone()};
    tensor_taker taker{tensors};
    if (!taker.has(from.getNames().size()))
        return too_few;
    for (const auto name : from.getNames())
        state.part.names.emplace_back(name.cStr());
    state.part.tensors = taker.take(state.part.names.size());
    for (const auto p : from.getPhases()) {
        if (!taker.has(p.getTensors()))
            return too_few;
        state.phases.push_back({p.getNumber(), p.getProbe(), taker.take(p.getTensors())});
    }
    for (const auto d : from.getDeltas()) {
        if (!taker.has(d.getTensors()))
            return too_few;
        state.deltas.push_back({d.getNumber(), taker.take(d.getTensors())});
    }
    for (const auto b : from.getBlocks()) {
        if (!taker.has(b.getTensors()))
            return too_few;
        state.blocks.push_back({b.getBlock(), b.getTurn(), taker.take(b.getTensors())});
    }
    if (!taker.is_empty())
        return too_few;
    return state;
}

} // namespace troupe::scheduled
