#include "tools/troupe/reporter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "schemas/base/quantities.hpp"
#include "tools/troupe/plan_json.hpp"

namespace troupe::cli {

using json = nlohmann::ordered_json;

namespace {

constexpr duration redraw_interval = std::chrono::milliseconds{200};
constexpr duration log_interval = std::chrono::seconds{10};

json numbers(const epoch_report& r) {
    json all = {{"epoch", r.epoch + 1},
                {"train_loss", r.train_loss},
                {"test_loss", r.test_loss},
                {"samples_per_second", r.samples_per_second},
                {"seconds", r.seconds}};
    if (r.test_accuracy)
        all["test_accuracy"] = *r.test_accuracy;
    return all;
}

json histogram(const std::vector<std::uint64_t>& lags) {
    json h = json::object();
    for (std::size_t lag = 0; lag < lags.size(); ++lag)
        if (lags[lag] != 0)
            h[std::to_string(lag)] = lags[lag];
    return h;
}

// "4 by 0, 3748 by 1", "none of 18".
std::string lags_in_words(const std::vector<std::uint64_t>& lags) {
    if (lags.size() == 1 && lags[0] > 0)
        return "none of " + std::to_string(lags[0]);
    std::string words;
    for (std::size_t lag = 0; lag < lags.size(); ++lag)
        if (lags[lag] != 0)
            words += (words.empty() ? "" : ", ") + std::to_string(lags[lag]) + " by " +
                     std::to_string(lag);
    return words.empty() ? "none trained" : words;
}

template <class... Args>
std::string text(const char* format, Args... args) {
    char buffer[256];
    std::snprintf(buffer, sizeof buffer, format, args...);
    return buffer;
}

json memory_of(const stage_report& stage) {
    json memory = {{"peak_bytes", stage.memory_peak_bytes},
                   {"reserved_bytes", stage.memory_reserved_bytes},
                   {"system_allocations", stage.system_allocations}};
    if (stage.system_allocations_of_last_epoch)
        memory["system_allocations_of_last_epoch"] = *stage.system_allocations_of_last_epoch;
    return memory;
}

// "memory 12.3 MB at most, taken from the system 312 times, 0 in the last epoch".
std::string memory_in_words(const stage_report& stage) {
    std::string words = text("memory %.1f MB at most, taken from the system ",
                             static_cast<double>(stage.memory_peak_bytes) / 1e6) +
                        counted(stage.system_allocations, "time");
    if (stage.system_allocations_of_last_epoch)
        words +=
            ", " + std::to_string(*stage.system_allocations_of_last_epoch) + " in the last epoch";
    return words;
}

// What names of files bring that is no UTF-8 is replaced.
std::string line_of(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string error_line(const error& why) {
    return line_of(
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
    : options_{std::move(options)}, out_{out}, talk_{talk} {}

void reporter::started(const plan& p) {
    std::set<std::string> names;
    for (const planned_stage& s : p.stages)
        for (const plan_device& d : s.where)
            names.insert(d.node_name);
    nodes_ = names.size();
    const std::vector<std::string> of_plan = notes_of(p, options_.of_cluster);
    if (options_.json) {
        std::vector<std::string> notes = options_.notes;
        notes.insert(notes.end(), of_plan.begin(), of_plan.end());
        json line = {{"event", "start"},          {"inspect", options_.inspect_address},
                     {"nodes", nodes_},           {"transport", options_.transport},
                     {"epochs", options_.epochs}, {"plan", to_json(p)},
                     {"notes", std::move(notes)}};
        if (!options_.resumed_from.empty())
            line["resumed_from"] = options_.resumed_from;
        return queue(out_, line_of(line));
    }
    for (const std::string& sentence : of_plan)
        queue(talk_, note_line(sentence));
    queue(out_, describe(p) + "\n");
    if (!options_.resumed_from.empty())
        queue(out_, "goes on from " + options_.resumed_from + "\n");
    last_line_ = options_.time->now();
}

void reporter::clear_progress() {
    if (std::exchange(progress_shown_, false))
        queue(talk_, "\r\x1b[K");
}

bool reporter::progress_is_due(const training_progress& p) {
    if (options_.json)
        return false;
    const time_point now = options_.time->now();
    const bool is_due = options_.columns
                            ? now - last_line_ >= redraw_interval || p.samples_done >= p.samples
                            : now - last_line_ >= log_interval;
    if (is_due)
        last_line_ = now;
    return is_due;
}

void reporter::progressed(const training_progress& p) {
    if (!progress_is_due(p))
        return;
    const double seconds = std::chrono::duration<double>(p.elapsed).count();
    const double done = static_cast<double>(p.samples_done);
    const double rate = seconds > 0 ? done / seconds : 0;
    // What is left of the whole run, evaluations aside, at this epoch's rate.
    const double samples = static_cast<double>(p.samples);
    const double left =
        rate > 0 ? (samples - done + samples * (options_.epochs - p.epoch - 1)) / rate : 0;
    const double counted = static_cast<double>(std::max<std::uint64_t>(p.counted, 1));
    std::string line = text("epoch %u/%u  %3.0f%%  loss %.4f", p.epoch + 1, options_.epochs,
                            100 * done / samples, p.loss_sum / counted);
    if (p.correct)
        line += text("  accuracy %.1f%%", 100 * static_cast<double>(*p.correct) / counted);
    line += text("  %.0f samples/s  %.0f s left", rate, left);
    progress_shown_ = options_.columns != nullptr;
    if (!progress_shown_)
        return queue(talk_, line + "\n", true);
    // A line that wraps cannot be written over, and one that fills its row wraps on some terminals.
    line.resize(std::min(line.size(), std::max<std::size_t>(options_.columns(), 1) - 1));
    queue(talk_, "\r\x1b[K" + line, true);
}

void reporter::epoch_done(const epoch_report& r) {
    if (options_.json) {
        json line = {{"event", "epoch"}};
        line.update(numbers(r));
        return queue(out_, line.dump() + "\n");
    }
    clear_progress();
    const char* bold = options_.color ? "\x1b[1m" : "";
    const char* plain = options_.color ? "\x1b[0m" : "";
    std::string line = text("epoch %u/%u  train loss %.4f  test loss %.4f", r.epoch + 1,
                            options_.epochs, r.train_loss, r.test_loss);
    if (r.test_accuracy)
        line += text("  %stest accuracy %.2f%%%s", bold, 100 * *r.test_accuracy, plain);
    queue(out_, line + text("  %.0f samples/s  %.1f s\n", r.samples_per_second, r.seconds));
    last_line_ = options_.time->now();
}

void reporter::noted(const std::string& sentence) {
    if (options_.json)
        return queue(out_, line_of({{"event", "note"}, {"message", sentence}}));
    clear_progress();
    queue(talk_, note_line(sentence));
    last_line_ = options_.time->now();
}

void reporter::finished(const run_report& report) {
    clear_progress();
    if (!report.failure) {
        queue(out_, done_text(report));
        if (std::string doubt = doubt_text(report); !doubt.empty())
            queue(talk_, std::move(doubt));
    } else if (options_.json)
        queue(out_, error_line(*report.failure));
    std::lock_guard guard{lock_};
    report_ = report;
    finished_.notify_all();
}

std::string reporter::done_text(const run_report& report) const {
    if (options_.json) {
        json line = {{"event", "done"}};
        if (!report.epochs.empty())
            line.update(numbers(report.epochs.back()));
        line["nodes"] = nodes_;
        line["transport"] = options_.transport;
        if (report.checkpoint)
            line["checkpoint"] = *report.checkpoint;
        json stages = json::array();
        for (const stage_report& s : report.stages)
            stages.push_back({{"stage", s.stage},
                              {"replica", s.replica},
                              {"lost", s.lost},
                              {"weight_version", s.weight_version},
                              {"busy_share", s.busy_share},
                              {"weight_version_lag", histogram(s.lags)},
                              {"dropped", s.dropped},
                              {"memory", memory_of(s)}});
        line["stages"] = std::move(stages);
        return line_of(line);
    }
    std::ostringstream out;
    if (options_.transport == "in-process")
        out << "done: in this process";
    else
        out << "done: " << counted(nodes_, "node") << " over " << options_.transport;
    std::set<std::uint32_t> lost;
    for (const stage_report& s : report.stages)
        if (s.lost)
            lost.insert(s.replica);
    if (!lost.empty())
        out << ", " << counted(lost.size(), "replica") << " lost on the way";
    if (!report.epochs.empty() && report.epochs.back().test_accuracy)
        out << text(", test accuracy %.2f%%", 100 * *report.epochs.back().test_accuracy);
    if (report.checkpoint)
        out << ", checkpoint " << *report.checkpoint;
    out << '\n';
    const bool is_replicated = !report.stages.empty() && report.stages.back().replica > 0;
    for (const stage_report& s : report.stages) {
        out << "  stage " << s.stage
            << (is_replicated ? " of replica " + std::to_string(s.replica) : std::string{});
        if (s.lost) {
            out << ": lost\n";
            continue;
        }
        out << text(": busy %.0f%%, minibatches late in weight versions: ", 100 * s.busy_share)
            << lags_in_words(s.lags)
            << (s.dropped > 0 ? ", dropped as too late: " + std::to_string(s.dropped)
                              : std::string{})
            << "; " << memory_in_words(s) << '\n';
    }
    return out.str();
}

// A training loss below it is printed as 0.
constexpr double no_loss = 5e-5;

std::string reporter::doubt_text(const run_report& report) const {
    if (options_.json || report.epochs.empty())
        return {};
    const epoch_report& first = report.epochs.front();
    const epoch_report& last = report.epochs.back();
    const double guess = std::log(static_cast<double>(options_.classes));
    std::string doubt;
    if (options_.classes > 1 && std::min(last.train_loss, last.test_loss) >= guess)
        doubt = text("the loss ends at %.4f, no better than a guess among %zu classes (%.4f)",
                     last.test_loss, options_.classes, guess);
    else if (report.epochs.size() > 1 && last.train_loss >= first.train_loss &&
             last.train_loss >= no_loss)
        doubt = text("the training loss has not fallen: %.4f in epoch %u, %.4f in epoch %u",
                     first.train_loss, first.epoch + 1, last.train_loss, last.epoch + 1);
    else
        return {};
    return note_line(doubt +
                     "; try another learning_rate (train.optimizer), most often a lower one, "
                     "or more epochs");
}

std::optional<run_report> reporter::wait_finished(duration patience) {
    std::unique_lock guard{lock_};
    finished_.wait_for(guard, patience, [&] { return report_.has_value(); });
    return report_;
}

void reporter::queue(std::ostream& to, std::string text, bool is_progress) {
    std::lock_guard guard{lock_};
    // Progress that nobody has seen yet is out of date.
    if (is_progress && !queued_.empty() && queued_.back().is_progress)
        queued_.pop_back();
    queued_.push_back({to, std::move(text), is_progress});
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
