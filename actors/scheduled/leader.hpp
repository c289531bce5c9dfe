// The root of a run of a program: asks for schedulers and workers, deals the data to the workers, starts the run, keeps what
// all have saved, replaces who is lost, and writes the result (schemas/scheduled.capnp). A checkpoint that cannot be written
// is a note, and a result that cannot be is kept and tried again (actors/run/unwritten.hpp).
//
// After the loss of workers alone the new ones replay what these had done since the last commit, and all others keep
// what they have; after any other loss, and where variables rotate, all go back to the commit. (Lasso on Fashion-MNIST,
// sets of 8, a path of 100; kill -9 of the node of one of three workers 10 s after the first phase, where the only
// commit was: the first new sweep came 1.0, 1.2 and 1.5 s later, after a replay of 19,500, 20,300 and 17,700 phases; 0.2
// to 0.9 s of that went by before it began. Where all went back it came 10.7 and 13.5 s later, after 22,000 phases. AMD
// EPYC, two cores.)
//
// Threads: an actor. The listener is called as run_events.hpp says.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/run/cast.hpp"
#include "actors/run/run_events.hpp"
#include "actors/run/unwritten.hpp"
#include "actors/runtime/actor.hpp"
#include "actors/runtime/fact_board.hpp"
#include "actors/runtime/work_queue.hpp"
#include "actors/scheduled/commits.hpp"
#include "actors/scheduled/data_pieces.hpp"
#include "actors/scheduled/device_choice.hpp"
#include "actors/scheduled/lost_pairs.hpp"
#include "actors/scheduled/program_course.hpp"
#include "actors/scheduled/program_run.hpp"
#include "actors/scheduled/repeated_losses.hpp"
#include "actors/scheduled/run_bounds.hpp"
#include "actors/scheduled/run_checkpoints.hpp"
#include "actors/scheduled/run_incarnation.hpp"
#include "schemas/base/quantities.hpp"
#include "schemas/scheduled.capnp.h"

namespace troupe::scheduled {

struct leader_options {
    std::uint64_t run = 0;
    run_listener* listener = nullptr;
    std::shared_ptr<device> io; // reads data and writes results
    program_run what;           // what its readers read must outlive the leader
    std::shared_ptr<piece_source> data;
    std::vector<plan_device> devices; // not empty
    duration between_commits{std::chrono::seconds{10}};
    std::shared_ptr<run_checkpoints> checkpoints = {};    // for every commit; null: none is written
    std::optional<std::vector<saved_state>> resume = {};  // the commit to go on from
    std::map<std::size_t, saved_state> resumed_ends = {}; // of the same (saved_commit::ends)
    std::string resumed_from = {};                        // its folder
    std::string result_mark = {};                         // result_mark.hpp
    std::string more_memory = {};                         // advice: ", or a larger bound: ..."
};

// Everything that a run ends with, as far as it is not on disk, and what the last attempt has come to. The io device has
// it while it writes.
struct unwritten_end {
    std::optional<ended_run> result;    // none: written, or there is none to write
    std::optional<saved_commit> commit; // none: saved, or there are no checkpoints
    bool needs_commit = false;          // the result alone is not what the run is for
    std::vector<std::string> files;     // of the result
    std::string checkpoint;             // folder of the commit
    std::optional<error> result_failure, commit_failure;

    std::string missing() const; // "the result and the last checkpoint"
    // The failure for which the run waits; none: all that it needs is written.
    std::optional<error> failure() const;
};

class leader final : public actor {
  public:
    leader(actor_context& context, leader_options options);

  private:
    // The wish of the run besides its phases.
    enum class wish : std::uint8_t { go_on, stop };
    enum class commit_state : std::uint8_t { none, marked, writing }; // of one that is under way
    // Writing of the result so far, while the run goes on.
    struct written_so_far {
        enum class state : std::uint8_t { idle, writing, failed };
        state now = state::idle;
        std::optional<payload> newest; // that waits until it can be written
    };

    void on_start() override;
    void on_down(actor_address who, const error& why) override;
    void on_rejected(proto::Rejected::Reader body, const frame& f) override;
    void on_end() override;

    // ---- spawning ----
    void ask_for(std::size_t member);
    void spawned(proto::Spawned::Reader body, const frame& f);
    void spawn_failed(proto::SpawnFailed::Reader body, const frame& f);

    // ---- dealing ----
    void deal();
    void read_on();
    void piece_taken(proto::PieceTaken::Reader body, const frame& f);

    // ---- the run ----
    void start_incarnation();
    void start(std::size_t member);
    void ready(proto::ProgramReady::Reader body, const frame& f);
    void workers_replaced(proto::WorkersReplaced::Reader body, const frame& f);
    void begin_if_ready();
    void phases_done(proto::PhasesDone::Reader body, const frame& f);
    void probe_done(proto::ProbeDone::Reader body, const frame& f);
    void state_saved(proto::StateSaved::Reader body, const frame& f);
    void commit_is_due(proto::CommitDue::Reader body, const frame& f);
    void time_is_up(proto::TimeIsUp::Reader body, const frame& f);
    void go_for(wish what);
    void write_checkpoint();

    // ---- losses ----
    void peer_lost(proto::PeerLost::Reader body, const frame& f);
    void decide_pairs(proto::LostPairsDue::Reader body, const frame& f);
    void start_lost_workers();
    void part_with(std::size_t member, const error& why);

    // ---- the end ----
    void ended(proto::ProgramEnded::Reader body, const frame& f);
    void end_if_over();
    void write_so_far();
    void write_end(proto::WriteEnd::Reader body, const frame& f);
    void end_is_tried();
    void stop(proto::StopRun::Reader body, const frame& f);
    void let_actors_go(const std::optional<error>& failure);
    void finish(std::optional<error> failure);

    // Numbers of members: workers come first, then schedulers.
    std::size_t workers() const noexcept { return options_.what.shares.rows.size(); }
    std::size_t schedulers() const noexcept { return options_.what.shares.variables.size(); }
    // The member that sent a message of this incarnation. None: it is of an earlier one, and dropped, or rejected.
    std::optional<std::size_t> sender(std::uint32_t incarnation, const frame& f);
    void show_course() { facts_->set("course", course_.name()); } // to inspectors
    template <class News>
    void tell(const News& news) {
        send(listener_, event_of(run(), news));
    }

    // How far the data has been dealt.
    struct dealing {
        enum class source_state : std::uint8_t {
            idle,
            reading, // on the io device
            at_end,  // all has been read
        };
        std::vector<bool> wanted;          // by worker
        std::vector<std::uint32_t> pieces; // by worker: sent
        std::uint32_t unanswered = 0;
        std::uint64_t round = 0; // counts partings: what was read before one is read again
        source_state source = source_state::idle;
    };
    // How far the run is, by what its schedulers have told; what it says of itself while it goes on.
    struct reached_work {
        bool is_started = false;
        std::uint64_t phases = 0;
        std::uint32_t milestones = 0; // sweeps
        std::optional<std::uint64_t> last_probe;
        std::shared_ptr<milestone_board> board = std::make_shared<milestone_board>();
        time_point began;
        time_point milestone_began;
        std::uint64_t milestone_phase = 0; // phases before it
        std::vector<named_number> numbers; // of the last milestone
        standstill still;

        // "3 sweeps".
        std::string text() const {
            return milestones == 0 ? before_a_sweep() : counted(milestones, "sweep");
        }
        // Numbers are of sweeps: without one there is nothing else to say of it.
        std::string before_a_sweep() const {
            return counted(phases, "phase") + ", before the end of a first sweep";
        }
    };
    // The files of the run: those on disk, and those that are yet to be written, by the io device.
    struct run_files {
        std::vector<std::string> result;
        std::string checkpoint; // folder of the last one
        written_so_far so_far;
        std::shared_ptr<unwritten_end> end; // of a run that is over
        std::string kept;                   // what of it is kept, as it could not be written
        struct {
            unwritten checkpoints, deletions, so_far, end;
        } disk;

        std::string found_text() const {
            return result.empty()
                       ? ""
                       : "; what has been found is in " +
                             std::filesystem::path{result.front()}.parent_path().string();
        }
        std::string onward_text() const {
            return checkpoint.empty() ? ""
                                      : "; " + checkpoint + " is saved, --resume goes on from it";
        }
    };
    struct intents {
        leader::wish wish = leader::wish::go_on;
        commit_state commit = commit_state::none;
        bool is_time_up = false;      // by stop.seconds
        bool is_stopping = false;     // by whoever owns the run
        std::optional<error> failure; // with which it ends, if it is stopped
        std::string bound;            // of `stop`, by which it ends

        void go_back() { // a commit that is being written is complete
            commit = commit == commit_state::marked ? commit_state::none : commit;
        }
    };
    struct answers {
        std::vector<bool> started;               // by member: ProgramReady, or WorkersReplaced
        std::vector<std::size_t> lost_workers;   // that replay, of those
        std::uint64_t replayed = 0;              // phases that each of them is sent again
        std::map<std::size_t, saved_state> ends; // by member: what it is at the end
        std::set<std::size_t> saved_ends;        // members whose last StateSaved has come
    };

    leader_options options_;
    program_course course_;
    cast cast_;
    device_choice devices_;
    const std::shared_ptr<share_dealer> dealer_; // used on the io device alone
    dealing dealing_;
    commits commits_;
    struct {
        repeated_losses in_place;
        lost_pairs pairs;
        std::uint32_t actors = 0; // that have been lost
    } losses_;
    run_incarnation incarnation_;
    answers answers_;
    intents intent_;
    reached_work reached_;
    run_files files_;
    actor_address listener_;
    const std::shared_ptr<fact_board> facts_ = std::make_shared<fact_board>(); // for inspectors
    work_queue work_;
};

} // namespace troupe::scheduled
