// A scheduler of a program: the actor around its scheduler_part. The ledger says what comes next; this actor turns that into
// work of its device and into the messages of schemas/scheduled.capnp.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/fact_board.hpp"
#include "actors/runtime/work_queue.hpp"
#include "actors/scheduled/phase_ledger.hpp"
#include "actors/scheduled/phase_log.hpp"
#include "actors/scheduled/run_incarnation.hpp"
#include "actors/scheduled/saved_state.hpp"
#include "actors/scheduled/worker_progress.hpp"
#include "schemas/scheduled.capnp.h"

namespace troupe::scheduled {

struct scheduler_actor_options {
    std::shared_ptr<scheduler_part> part;
    std::shared_ptr<device> compute;
    actor_address leader;
    ledger_shape shape;
    stop_settings stop;
    std::uint64_t seed = 0;
    bool result_is_with_workers = false; // program::result_is_with_workers
    bool saves_end = false;              // ProgramRun.savesEnd

    // The run ends at a phase that is marked so, not at a probe.
    bool ends_at_mark() const noexcept { return result_is_with_workers || saves_end; }
};

class scheduler_actor final : public actor {
  public:
    scheduler_actor(actor_context& context, scheduler_actor_options options);

  private:
    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;

    enum class course : std::uint8_t {
        waiting, // for an incarnation, for its state to be loaded, or for the phases to begin
        idle,    // waits for messages
        busy,    // the part is on the device
        ended,
    };

    // A phase that the part has chosen, and what inspectors are shown of it.
    struct choice {
        phase chosen;
        std::string description;
    };

    void watch_others(); // of the run

    // ---- from the leader ----
    void start(proto::StartProgram::Reader body, const frame& f);
    void begin(proto::BeginPhases::Reader body, const frame& f);
    void mark(proto::MarkPhase::Reader body, const frame& f);
    void commit_complete(proto::CommitComplete::Reader body, const frame& f);

    // ---- for workers that take the place of lost ones ----
    void replace_workers(proto::ReplaceWorkers::Reader body, const frame& f);
    void phase_passed(proto::PhasePassed::Reader body, const frame& f);
    bool answered(std::uint32_t worker, std::uint32_t incarnation, std::uint64_t number);
    void send_again(std::uint32_t worker);
    void send_again_to_all();

    // ---- of phases ----
    void take_partial(proto::Partial::Reader body, const frame& f);
    void take_deltas(proto::Deltas::Reader body, const frame& f);
    void go_on();
    void schedule(std::uint64_t number);
    void save();
    void pull(std::uint64_t number);
    void absorb(std::uint64_t number);
    void judge(std::uint64_t number);
    void conclude(std::uint64_t number);
    void folded(payload changes);
    bool is_last(std::uint64_t number) const;
    void concluded(std::uint64_t probe, bool is_done);
    void end();
    void send_result(std::function<void()> then);
    void show_progress() const; // to inspectors

    // Work of the part that leaves a value: `then` is called with it, and the scheduler goes on.
    template <class T>
    void compute(step::kind kind, std::uint64_t number, bool is_small,
                 std::function<result<T>()> work, std::function<void(T&)> then);
    // The part chooses: on a device, or in a handler.
    static result<choice> choose(scheduler_part& part, std::uint64_t number, std::uint64_t seed,
                                 const std::optional<rotation>& ring);
    void send_chosen(choice made);
    void give_out(phase chosen, phase_mark mark); // to the workers
    void send_phase(std::uint32_t worker, const logged_phase& p, bool is_folded);
    void send_deltas(const phase_header& of, const payload& deltas);
    void send_state(saved_part part, frame_builder<proto::StateSaved> message);
    void send_state(saved_part part, frame_builder<proto::ProgramEnded> message);
    template <class Message>
    void send_state_in(saved_part part, frame_builder<Message> message);
    template <class Body>
    std::optional<phase_header>
    header_of(Body body); // none if it is of an earlier incarnation, or rejected
    bool is_of_leader(const frame& f);

    const scheduler_actor_options options_;
    course course_ = course::waiting;
    run_incarnation run_;
    phase_ledger ledger_;
    phase_log log_; // none if the variables rotate
    std::vector<phase>
        restored_; // phases that were under way in the state to start from; sent when the phases begin
    phase_mark to_mark_ = phase_mark::none; // the next phase that is chosen
    run_end end_;                           // as a probe has concluded
    bool has_sent_result_ = false;          // in this incarnation
    std::uint32_t milestones_ = 0;          // probes that have been concluded
    const std::shared_ptr<fact_board> facts_ = std::make_shared<fact_board>(); // for inspectors
    // The time that the last call of the part took, by what it computed; the longest where there was none.
    std::array<duration, step::kinds> last_took_;
    worker_progress progress_; // of a run; scheduler 0 keeps it, as every run has one
    work_queue work_;
};

} // namespace troupe::scheduled
