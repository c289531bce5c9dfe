// The output of a run: for people a line for each milestone (a network's epochs) and progress in between, or one JSON object
// per line. It knows no kind of job and prints the news that the run sends (actors/run/run_events.hpp).
//
// On a terminal the progress is one line that is written over. Elsewhere, in a log, it is a line of its own whenever
// nothing was printed for a while.
//
// Threads: a listening_actor calls the listener's methods, which only queue text, because the reader of a stream may not
// read for long, and an actor's thread may be the network's. The owner prints it (print_next) and waits for the end.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>

#include "actors/run/run_events.hpp"

namespace troupe::cli {

struct reporter_options {
    bool json = false;
    // The current width of the terminal that `talk` is; null: `talk` is no terminal.
    std::function<std::size_t()> columns;
    bool color = false;
    std::string inspect_address;
    std::uint64_t run = 0;          // its number, by which the inspector tells runs apart
    std::string transport;          // "nodes", or "in-process"
    std::vector<std::string> notes; // with --json: notes for the record of the start
    const time_source* time = nullptr;
};

// Prints {"event": "error", ...}.
void print_error(const error& why, std::ostream& out);

class reporter final : public run_listener {
  public:
    reporter(reporter_options options, std::ostream& out, std::ostream& talk);

    void started(const run_started& news) override;
    void progressed(const run_progress& news) override;
    void reached(const run_milestone& news) override;
    void noted(const run_note& news) override;
    void finished(const run_finished& news) override;

    // Says by a note that nothing has come of the run for long: for 10 s, and five times as long as ever before. To be
    // called many times a second; a process that was stopped itself blames nobody. Any thread.
    void notice_silence();

    // Waits at most `patience` for the end of the run, or for a line since the last call; progress in between is none.
    // Returns the end, with which all output is queued.
    std::optional<run_finished> wait_for_news(duration patience);

    // Prints the first queued piece; returns false if there is none. Takes as long as the streams do.
    bool print_next();

  private:
    struct piece {
        std::ostream& to;
        std::string text;
        bool is_progress;
    };

    time_point look();
    void heard();
    void note(const std::string& sentence);
    bool progress_is_due(const run_progress& news);
    void clear_progress();
    std::uint32_t nodes_at_end(const run_finished& news) const;
    std::string nodes_text(const run_finished& news) const;
    std::string end_text(const run_finished& news) const;
    std::string end_json(const run_finished& news) const;
    std::string place_of(std::uint32_t milestone) const; // "epoch 1/4"
    void queue(std::ostream& to, std::string text, bool is_progress = false);

    reporter_options options_;
    std::ostream& out_;
    std::ostream& talk_;
    time_point last_line_;        // when the last line was queued
    bool progress_shown_ = false; // the last piece was progress
    run_started start_;           // empty before the start

    struct {
        time_point since; // the last news
        time_point looked;
        duration longest{};
        bool is_said = false;
    } silence_;

    std::mutex telling_; // held by a call of the listener's; guards the four members above
    std::mutex lock_;
    std::condition_variable changed_;
    // The members below are guarded by lock_.
    std::optional<run_finished> outcome_;
    std::deque<piece> queued_;
    bool has_new_line_ = false;
};

} // namespace troupe::cli
