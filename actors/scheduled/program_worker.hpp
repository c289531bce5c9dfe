// A worker of a program: the actor around its worker_part. It takes its share of the data, and computes phases in the order
// of their numbers on its device, as schemas/scheduled.capnp says.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/fact_board.hpp"
#include "actors/runtime/work_queue.hpp"
#include "actors/scheduled/block_shelf.hpp"
#include "actors/scheduled/phase_ledger.hpp"
#include "actors/scheduled/run_incarnation.hpp"
#include "actors/scheduled/saved_state.hpp"
#include "schemas/scheduled.capnp.h"

namespace troupe::scheduled {

struct program_worker_options {
    std::shared_ptr<worker_part> part;
    std::shared_ptr<device> compute;
    actor_address leader;
    std::uint32_t worker = 0;
    std::uint32_t workers = 1;
    std::uint32_t schedulers = 1;
    std::uint32_t window = 0;
    std::optional<rotation> ring = {};   // if the variables rotate
    bool result_is_with_workers = false; // program::result_is_with_workers
    bool saves_end = false;              // ProgramRun.savesEnd

    staleness bound() const noexcept { return {window, ring}; }
};

class program_worker final : public actor {
  public:
    program_worker(actor_context& context, program_worker_options options);

  private:
    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    enum class course : std::uint8_t {
        taking, // its share of the data
        ready,  // has all of it; waits for an incarnation, or for its state to be loaded
        at_work,
        ended, // at a phase marked `stop`: later ones are nobody's
    };
    // A phase that has arrived, and what its work makes.
    struct assignment {
        phase told;
        phase_mark mark = phase_mark::none;
        bool is_saved = false; // what the worker is before it computes it
        bool is_turn = false;
        bool is_folded = false;          // it has been: the worker takes the place of a lost one
        std::optional<phase_deltas> due; // to be applied before it
        held_block block;                // of a turn
        saved_part saved;
        std::vector<held_block> blocks; // that are saved
        std::string description;
        std::vector<payload> partials; // by scheduler for a probe; otherwise one
    };

    void take_piece(proto::Piece::Reader body, const frame& f);
    void start(proto::StartProgram::Reader body, const frame& f);
    void take_phase(proto::Phase::Reader body, const frame& f);
    void take_block(proto::BlockTurn::Reader body, const frame& f);

    void go_on(); // computes what is next and has arrived
    bool has_blocks_for(const assignment& a) const;
    void submit(std::shared_ptr<assignment> a);
    static result<std::vector<held_block>> first_blocks(worker_part& part,
                                                        const block_shelf& shelf);
    // On the device, where this actor may have ended.
    static result<void> load(worker_part& part, const saved_state& from);
    static result<void> apply(worker_part& part, const phase_deltas& deltas);
    static result<void> compute(assignment& a, std::uint32_t schedulers, worker_part& part,
                                compute_context& context);
    static result<void> compute_partials(assignment& a, worker_part& part,
                                         compute_context& context);
    void started();
    void computed(assignment& a);
    // To inspectors: the phase that is next, and the number of those whose deltas have been applied.
    void show(std::uint64_t next, std::uint64_t applied, std::string_view last) const;
    bool saves_at(phase_mark mark) const noexcept;
    template <class Message>
    void send_state(const assignment& a, frame_builder<Message> message);
    void hand_on(held_block block);
    void send_partial(std::uint32_t scheduler, const assignment& a, const payload& partial);
    bool is_of_leader(const frame& f);

    const program_worker_options options_;
    course course_ = course::taking;
    std::uint32_t pieces_ = 0; // that have come
    run_incarnation run_;
    std::uint64_t next_ = 0; // phase to be computed
    std::uint64_t applied_ =
        0; // number of phases whose deltas have been applied, or will be by what is submitted
    std::map<std::uint64_t, std::shared_ptr<assignment>> arrived_; // later ones
    std::optional<block_shelf> shelf_;                             // if the variables rotate
    const std::shared_ptr<fact_board> facts_ = std::make_shared<fact_board>(); // for inspectors
    work_queue work_;
};

} // namespace troupe::scheduled
