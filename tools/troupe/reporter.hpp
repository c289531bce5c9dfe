// What a run prints: for people a line per epoch and its progress in between, or one JSON object per line.
//
// On a terminal the progress is one line that is written over. Elsewhere, in a log, it is a line of its own whenever
// nothing was printed for a while.
//
// Threads: the trainer's actor calls the observer's methods, which only queue what is to be printed: who reads it may
// not read for long, and an actor's thread may be the network's. The owner prints it (print_next) and waits for the end.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>

#include "actors/trainer/trainer.hpp"

namespace troupe::cli {

struct reporter_options {
    bool json = false;
    std::function<std::size_t()>
        columns; // how wide the terminal is now that `talk` is; null: it is none
    bool color = false;
    std::string inspect_address;
    std::uint32_t nodes = 0;        // node processes that carry stages
    std::string transport;          // "ucx", or "in-process"
    std::uint32_t epochs = 0;       // of the app
    std::size_t classes = 0;        // of the data
    std::string resumed_from;       // folder of the checkpoint; empty: the run begins anew
    bool of_cluster = false;        // of nodes that were there before
    std::vector<std::string> notes; // with --json: what else the start notes
    const clock* time = nullptr;
};

// {"event": "error", ...}
void print_error(const error& why, std::ostream& out);

class reporter final : public training_observer {
  public:
    reporter(reporter_options options, std::ostream& out, std::ostream& talk);

    void started(const plan& p) override;
    void progressed(const training_progress& progress) override;
    void epoch_done(const epoch_report& report) override;
    void noted(const std::string& sentence) override;
    void finished(const run_report& report) override;

    // The report once the run is over; then all that there is to print is queued. Waits at most so long.
    std::optional<run_report> wait_finished(duration patience);

    // Prints the first of what is queued; false if nothing is. Takes as long as the streams do.
    bool print_next();

  private:
    struct piece {
        std::ostream& to;
        std::string text;
        bool is_progress;
    };

    bool progress_is_due(const training_progress& progress);
    void clear_progress();
    std::string done_text(const run_report& report) const;
    std::string doubt_text(const run_report& report) const; // empty if the loss has fallen
    void queue(std::ostream& to, std::string text, bool is_progress = false);

    reporter_options options_;
    std::ostream& out_;
    std::ostream& talk_;
    time_point last_line_;        // when the last line was queued
    bool progress_shown_ = false; // by the last piece
    std::size_t nodes_ = 0;       // that carry stages

    std::mutex lock_;
    std::condition_variable finished_;
    // Guarded by lock_.
    std::optional<run_report> report_;
    std::deque<piece> queued_;
};

} // namespace troupe::cli
