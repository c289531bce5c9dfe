#include "tools/troupe/reporter.hpp"

#include <algorithm>

#include "actors/runtime/actor_names.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/quantities.hpp"
#include "tools/troupe/number_words.hpp"

namespace troupe::cli {

namespace {

constexpr duration redraw_interval = std::chrono::milliseconds{200};
constexpr duration log_interval = std::chrono::seconds{10};
constexpr duration silence_told = std::chrono::seconds{10};
constexpr duration stop_of_process =
    std::chrono::seconds{3}; // no load keeps a thread from running for so long

// Text that is no object counts as an empty one.
json object_of(const std::string& text) {
    auto parsed = json::parse(text);
    return parsed && parsed->is_object() ? std::move(*parsed) : json::object();
}

// Bytes in names of files that are no UTF-8 are replaced.
std::string json_line_of(const json& object) {
    return object.dump() + "\n";
}

std::string error_line(const error& why) {
    return json_line_of(
        {{"event", "error"}, {"code", to_string(why.code())}, {"message", why.message()}});
}

std::string note_line(const std::string& sentence) {
    return "troupe: note: " + sentence + "\n";
}

} // namespace

void print_error(const error& why, std::ostream& out) {
    out << error_line(why) << std::flush;
}

reporter::reporter(reporter_options options, std::ostream& out, std::ostream& talk)
    : options_{std::move(options)}, out_{out}, talk_{talk} {
    heard();
}

void reporter::started(const run_started& news) {
    const std::lock_guard told{telling_};
    heard();
    start_ = news;
    if (options_.json) {
        std::vector<std::string> notes = options_.notes;
        notes.insert(notes.end(), news.notes.begin(), news.notes.end());
        json line = {{"event", "start"},
                     {"inspect", options_.inspect_address},
                     {"run", "0x" + run_text(options_.run)},
                     {"nodes", news.nodes},
                     {"transport", options_.transport},
                     {news.milestone + "s", news.milestones},
                     {"plan", object_of(news.plan_json)},
                     {"notes", std::move(notes)}};
        if (!news.resumed_from.empty())
            line["resumed_from"] = news.resumed_from;
        return queue(out_, json_line_of(line));
    }
    for (const std::string& sentence : news.notes)
        queue(talk_, note_line(sentence));
    queue(out_, news.plan + "\n");
    if (!news.resumed_from.empty())
        queue(out_, "goes on from " + news.resumed_from + "\n");
    last_line_ = options_.time->now();
}

void reporter::clear_progress() {
    if (std::exchange(progress_shown_, false))
        queue(talk_, "\r\x1b[K");
}

bool reporter::progress_is_due(const run_progress& news) {
    if (options_.json)
        return false;
    const time_point now = options_.time->now();
    const bool is_due = options_.columns ? now - last_line_ >= redraw_interval ||
                                               (news.pieces > 0 && news.done >= news.pieces)
                                         : now - last_line_ >= log_interval;
    if (is_due)
        last_line_ = now;
    return is_due;
}

std::string reporter::place_of(std::uint32_t milestone) const {
    return start_.milestone + " " + std::to_string(milestone + 1) +
           (start_.milestones > 0 ? "/" + std::to_string(start_.milestones) : "");
}

void reporter::progressed(const run_progress& news) {
    const std::lock_guard told{telling_};
    heard();
    if (!progress_is_due(news))
        return;
    const double seconds = std::chrono::duration<double>(news.elapsed).count();
    const double done = static_cast<double>(news.done);
    const double pieces = static_cast<double>(news.pieces);
    const double rate = seconds > 0 ? done / seconds : 0;
    // Work that is left of the whole run, at the rate of this milestone.
    const double later = start_.milestones > news.milestone + 1
                             ? pieces * (start_.milestones - news.milestone - 1)
                             : 0;
    const double left = rate > 0 ? (pieces - done + later) / rate : 0;
    std::string line = place_of(news.milestone);
    if (news.pieces > 0)
        line += formatted("  %3.0f%%", 100 * done / pieces);
    for (const named_number& n : news.numbers)
        line += "  " + words_of(n, " %.1f%%");
    line += formatted("  %.0f ", rate) + news.piece + "/s";
    if (news.pieces > 0)
        line += formatted("  %.0f s left", left);
    progress_shown_ = options_.columns != nullptr;
    if (!progress_shown_)
        return queue(talk_, line + "\n", true);
    // A line that wraps cannot be written over, and one that fills its row wraps on some terminals.
    line.resize(std::min(line.size(), std::max<std::size_t>(options_.columns(), 1) - 1));
    queue(talk_, "\r\x1b[K" + line, true);
}

void reporter::reached(const run_milestone& news) {
    const std::lock_guard told{telling_};
    heard();
    if (options_.json) {
        json line = {{"event", start_.milestone}, {start_.milestone, news.milestone + 1}};
        add_numbers(line, news.numbers);
        return queue(out_, json_line_of(line));
    }
    clear_progress();
    std::string line = place_of(news.milestone);
    for (const named_number& n : news.numbers) {
        const bool is_bold = options_.color && n.style == proto::NumberStyle::SHARE;
        line += std::string{"  "} + (is_bold ? "\x1b[1m" : "") + words_of(n, " %.2f%%") +
                (is_bold ? "\x1b[0m" : "");
    }
    queue(out_, line + "\n");
    last_line_ = options_.time->now();
}

void reporter::noted(const run_note& news) {
    const std::lock_guard told{telling_};
    note(news.sentence);
}

void reporter::note(const std::string& sentence) {
    {
        const std::lock_guard guard{lock_};
        if (outcome_)
            return; // the last line has been queued
    }
    if (options_.json)
        return queue(out_, json_line_of({{"event", "note"}, {"message", sentence}}));
    clear_progress();
    queue(talk_, note_line(sentence));
    last_line_ = options_.time->now();
}

// A process that was stopped has heard nobody meanwhile.
time_point reporter::look() {
    const time_point now = options_.time->now();
    if (now - std::exchange(silence_.looked, now) > stop_of_process)
        silence_.since = now;
    return now;
}

void reporter::heard() {
    if (options_.time == nullptr)
        return;
    const time_point now = look();
    if (!start_.milestone.empty()) // before it nothing comes
        silence_.longest = std::max(silence_.longest, now - silence_.since);
    silence_.since = now;
    silence_.is_said = false;
}

void reporter::notice_silence() {
    const std::lock_guard told{telling_};
    const duration silent = look() - silence_.since;
    if (silence_.is_said || silent < std::max(silence_told, 5 * silence_.longest))
        return;
    silence_.is_said = true;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(silent).count();
    note((start_.milestone.empty() ? "the run has not begun for " : "nothing has been done for ") +
         std::to_string(seconds) + " s; see what it waits for with: troupe inspect " +
         options_.inspect_address);
}

void reporter::finished(const run_finished& news) {
    const std::lock_guard told{telling_};
    heard();
    clear_progress();
    if (options_.json) {
        queue(out_, news.failure ? error_line(*news.failure) : end_json(news));
    } else if (!news.failure) {
        queue(out_, end_text(news));
        for (const std::string& doubt : news.doubts)
            queue(talk_, note_line(doubt));
    }
    std::lock_guard guard{lock_};
    outcome_ = news;
    changed_.notify_all();
}

// As many as at the start, unless what the run says for programs has others.
std::uint32_t reporter::nodes_at_end(const run_finished& news) const {
    const json end = object_of(news.json);
    return end["nodes"].count<std::uint32_t>().value_or(start_.nodes);
}

// "2 nodes", or "1 of 2 nodes" where one is lost.
std::string reporter::nodes_text(const run_finished& news) const {
    const std::uint32_t left = nodes_at_end(news);
    return left < start_.nodes ? std::to_string(left) + " of " + counted(start_.nodes, "node")
                               : counted(left, "node");
}

std::string reporter::end_json(const run_finished& news) const {
    json line = {{"event", "done"}};
    if (!news.numbers.empty()) {
        line[start_.milestone] = news.milestones;
        add_numbers(line, news.numbers);
    }
    line["nodes"] = start_.nodes;
    line["transport"] = options_.transport;
    if (!news.saved.empty())
        line["checkpoint"] = news.saved;
    line.update(object_of(news.json));
    return json_line_of(line);
}

std::string reporter::end_text(const run_finished& news) const {
    std::string end =
        options_.transport == "in-process" ? "done: in this process" : "done: " + nodes_text(news);
    for (const std::string& remark : news.remarks)
        end += ", " + remark;
    for (const named_number& n : news.numbers)
        if (n.style == proto::NumberStyle::SHARE)
            end += ", " + words_of(n, " %.2f%%");
    if (!news.saved.empty())
        end += ", checkpoint " + news.saved;
    end += '\n';
    for (const std::string& actor : news.actors)
        end += "  " + actor + "\n";
    return end;
}

std::optional<run_finished> reporter::wait_for_news(duration patience) {
    std::unique_lock guard{lock_};
    changed_.wait_for(guard, patience, [&] { return outcome_ || has_new_line_; });
    has_new_line_ = false;
    return outcome_;
}

void reporter::queue(std::ostream& to, std::string text, bool is_progress) {
    std::lock_guard guard{lock_};
    // Progress that nobody has seen yet is out of date.
    if (is_progress && !queued_.empty() && queued_.back().is_progress)
        queued_.pop_back();
    queued_.push_back({to, std::move(text), is_progress});
    if (is_progress)
        return;
    has_new_line_ = true;
    changed_.notify_all();
}

bool reporter::print_next() {
    std::unique_lock guard{lock_};
    if (queued_.empty())
        return false;
    const piece next = std::move(queued_.front());
    queued_.pop_front();
    guard.unlock();
    next.to << next.text << std::flush;
    return true;
}

} // namespace troupe::cli
