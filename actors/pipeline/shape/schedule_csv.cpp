#include "actors/pipeline/shape/schedule_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "actors/pipeline/shape/schedule_checker.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::size_t shown_bytes = 40; // of a cell in a sentence

// The place of a step in the file.
struct cell_place {
    std::size_t line = 0;
    std::size_t column = 0;
};

struct read_row {
    device_steps steps;
    std::vector<cell_place> places; // of warm-up and body, in order
    std::size_t line = 0;
    bool has_warm_up = false;
    bool has_updates = false;
};

// A number at the beginning of `text`, which loses it; none where there is no digit or more than `digits_max`.
std::optional<std::uint32_t> take_number(std::string_view& text) {
    constexpr std::size_t digits_max = 6;
    std::uint32_t number = 0;
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    if (end == 0 || end > digits_max)
        return std::nullopt;
    std::from_chars(text.data(), text.data() + end, number);
    text.remove_prefix(end);
    return number;
}

bool take_char(std::string_view& text, char c) {
    if (!text.starts_with(c))
        return false;
    text.remove_prefix(1);
    return true;
}

// "SEND_F3" behind its stage, and others that this project's runtime has no need of.
bool is_communication(std::string_view cell) {
    constexpr std::array<std::string_view, 6> of_microbatches{
        "SEND_F", "RECV_F", "SEND_B", "RECV_B", "WAIT_SEND_F", "WAIT_SEND_B"};
    constexpr std::array<std::string_view, 4> of_stages{"UNSHARD", "RESHARD", "REDUCE_GRAD",
                                                        "WAIT_REDUCE_GRAD"};
    if (!take_number(cell))
        return false;
    if (std::ranges::find(of_stages, cell) != of_stages.end())
        return true;
    return std::ranges::any_of(of_microbatches, [&](std::string_view word) {
        std::string_view rest = cell;
        if (!rest.starts_with(word))
            return false;
        rest.remove_prefix(word.size());
        return take_number(rest).has_value() && rest.empty();
    });
}

std::optional<schedule_step> step_of(std::string_view cell) {
    schedule_step step;
    const auto stage = take_number(cell);
    if (!stage || cell.empty())
        return std::nullopt;
    constexpr std::string_view letters = "FBIWU";
    const std::size_t kind = letters.find(cell.front());
    if (kind == std::string_view::npos)
        return std::nullopt;
    cell.remove_prefix(1);
    step.kind = static_cast<step_kind>(kind);
    step.stage = *stage;
    if (step.kind != step_kind::update) {
        const auto microbatch = take_number(cell);
        if (!microbatch)
            return std::nullopt;
        step.microbatch = *microbatch;
    }
    if (take_char(cell, '+')) {
        const auto ahead = take_number(cell);
        if (!ahead)
            return std::nullopt;
        step.ahead = *ahead;
    }
    if (step.kind == step_kind::forward && take_char(cell, '-')) {
        const auto behind = take_number(cell);
        if (!behind)
            return std::nullopt;
        step.behind = *behind;
    }
    return cell.empty() ? std::optional{step} : std::nullopt;
}

class csv_reader {
  public:
    explicit csv_reader(const std::string& name) : name_{name} {}

    result<table_from_csv> read(std::string_view text);

  private:
    error fail(std::size_t line, const std::string& what) const {
        return {errc::data, name_ + ": line " + std::to_string(line) + ": " + what};
    }
    error fail_at(std::size_t column, const std::string& what) const {
        return fail(line_, "row " + std::to_string(rows_.size()) + ", column " +
                               std::to_string(column) + ": " + what);
    }
    result<void> take_line(std::string_view line);
    result<void> take_words(std::string_view line);
    result<void> take_cell(std::string_view cell, std::size_t column);
    result<void> take_step(std::string_view cell, std::size_t column);
    result<schedule_table> put_together();
    result<void> place_stages(schedule_table& table) const;
    error fail(const table_fault& fault) const;

    const std::string& name_;
    std::size_t line_ = 0;
    std::size_t steps_ = 0;
    std::string shape_; // "v", "loop", "mirrored", or empty
    bool latest_ = false;
    std::vector<read_row> rows_;
    table_from_csv made_;
};

result<void> csv_reader::take_words(std::string_view line) {
    if (line_ > 1)
        return fail(line_, "a line with # comes first; leave it out here");
    line.remove_prefix(1);
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        const std::string_view word = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
        if (word == "latest")
            latest_ = true;
        else if (shape_.empty() && (word == "v" || word == "loop" || word == "mirrored"))
            shape_ = word;
        else if (!word.empty())
            return fail(line_, "\"" + printable(word, shown_bytes) +
                                   "\" is not known here; the words behind # are one of v, loop "
                                   "and mirrored, and latest");
    }
    return {};
}

result<void> csv_reader::take_step(std::string_view cell, std::size_t column) {
    const auto step = step_of(cell);
    if (!step)
        return fail_at(column, "\"" + printable(cell, shown_bytes) +
                                   "\" is no step; write stage, one of F, B, I and W, and "
                                   "microbatch, as 2F0");
    if (++steps_ > limits::schedule_steps_max)
        return fail_at(column, "more than " + std::to_string(limits::schedule_steps_max) +
                                   " steps; cut the table down");
    if (step->stage >= limits::stages_max * limits::schedule_replicas_max ||
        step->microbatch >= limits::schedule_microbatches_max ||
        std::max(step->ahead, step->behind) > limits::schedule_ahead_max)
        return fail_at(column,
                       "\"" + printable(cell, shown_bytes) +
                           "\" has a number that is too large; at most " +
                           std::to_string(limits::stages_max * limits::schedule_replicas_max) +
                           " stages and " + std::to_string(limits::schedule_microbatches_max) +
                           " microbatches are taken");
    read_row& row = rows_.back();
    row.steps.body.push_back(*step);
    row.places.push_back({line_, column});
    row.has_updates = row.has_updates || step->kind == step_kind::update;
    return {};
}

result<void> csv_reader::take_cell(std::string_view cell, std::size_t column) {
    constexpr std::string_view pair_end = ")OVERLAP_F_B";
    read_row& row = rows_.back();
    if (cell.empty())
        return {};
    if (cell == "|") {
        if (row.has_warm_up)
            return fail_at(column, "a second |; one stands between warm-up and body");
        row.has_warm_up = true;
        row.steps.warm_up = std::move(row.steps.body);
        row.steps.body.clear();
        return {};
    }
    if (is_communication(cell)) {
        ++made_.passed_over;
        return {};
    }
    const std::size_t middle = cell.find(';');
    if (!cell.starts_with('(') || !cell.ends_with(pair_end) || middle == std::string_view::npos)
        return take_step(cell, column);
    ++made_.pairs;
    if (auto first = take_step(cell.substr(1, middle - 1), column); !first)
        return first;
    return take_step(cell.substr(middle + 1, cell.size() - pair_end.size() - middle - 1), column);
}

result<void> csv_reader::take_line(std::string_view line) {
    ++line_;
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    if (line.starts_with('#'))
        return take_words(line);
    if (line.empty())
        return {};
    if (rows_.size() == limits::stages_max)
        return fail(line_,
                    "more than " + std::to_string(limits::stages_max) + " rows; a row is a device");
    rows_.emplace_back().line = line_;
    for (std::size_t column = 1;; ++column) {
        const std::size_t end = std::min(line.find(','), line.size());
        std::string_view cell = line.substr(0, end);
        while (cell.starts_with(' '))
            cell.remove_prefix(1);
        while (cell.ends_with(' '))
            cell.remove_suffix(1);
        if (auto taken = take_cell(cell, column); !taken)
            return taken;
        if (end == line.size())
            return {};
        line.remove_prefix(end + 1);
    }
}

// Stages lie on the rows that name them, or as the first line says.
result<void> csv_reader::place_stages(schedule_table& table) const {
    const auto devices = static_cast<std::uint32_t>(rows_.size());
    const std::uint32_t stages = table.chain_stages();
    const std::uint32_t none = devices;
    if (shape_ == "v" || shape_ == "mirrored") {
        if (stages != 2 * devices)
            return fail(1, "# " + shape_ + " asks for " + std::to_string(2 * devices) +
                               " stages on " + std::to_string(devices) + " rows; there are " +
                               std::to_string(stages));
        table.device_of = shape_ == "v" ? v_shaped_places(devices) : mirrored_places(devices);
        return {};
    }
    table.device_of.assign(stages, none);
    for (std::uint32_t d = 0; d < devices; ++d)
        for (std::size_t p = 0; p < step_count(rows_[d].steps); ++p) {
            const std::uint32_t s = step_at(rows_[d].steps, p).stage;
            if (shape_ == "loop")
                table.device_of[s] = s % devices;
            else if (table.device_of[s] != none && table.device_of[s] != d)
                return fail(rows_[d].places[p].line, "row " + std::to_string(d + 1) + ", column " +
                                                         std::to_string(rows_[d].places[p].column) +
                                                         ": stage " + std::to_string(s) +
                                                         " stands in row " +
                                                         std::to_string(table.device_of[s] + 1) +
                                                         ", too; a stage lies on one device");
            else
                table.device_of[s] = d;
        }
    const auto unnamed = std::ranges::find(table.device_of, none);
    if (unnamed != table.device_of.end())
        return fail(line_, "no row names stage " +
                               std::to_string(unnamed - table.device_of.begin()) +
                               "; stages count from 0 without a gap");
    return {};
}

result<schedule_table> csv_reader::put_together() {
    schedule_table table;
    std::uint32_t stages = 0;
    bool has_updates = false;
    for (const read_row& row : rows_) {
        has_updates = has_updates || row.has_updates;
        for (std::size_t p = 0; p < step_count(row.steps); ++p) {
            stages = std::max(stages, step_at(row.steps, p).stage + 1);
            table.microbatches = std::max(table.microbatches, step_at(row.steps, p).microbatch + 1);
        }
    }
    if (stages == 0)
        return fail(std::max<std::size_t>(line_, 1), "no step; a row of them for each device is "
                                                     "needed");
    table.replicas = shape_ == "mirrored" ? 2 : 1;
    table.stages = (stages + table.replicas - 1) / table.replicas;
    table.stashes_weights = !latest_;
    if (auto placed = place_stages(table); !placed)
        return placed.failure();
    for (const read_row& row : rows_)
        table.devices.push_back(row.steps);
    if (!has_updates)
        append_updates(table);
    return table;
}

error csv_reader::fail(const table_fault& fault) const {
    if (!fault.device)
        return {errc::data, name_ + ": " + to_string(fault)};
    const read_row& row = rows_[*fault.device];
    table_fault shown = fault;
    std::size_t line = row.line;
    if (fault.position && *fault.position < row.places.size()) {
        shown.position = row.places[*fault.position].column - 1;
        line = row.places[*fault.position].line;
    } else
        shown.position.reset(); // an update that no cell names
    const std::string what_to_do = shown.advice.empty() ? "" : "; " + std::string{shown.advice};
    return fail(line, to_string(shown) + what_to_do);
}

result<table_from_csv> csv_reader::read(std::string_view text) {
    if (text.size() > limits::schedule_file_bytes_max)
        return error{errc::data, name_ + ": a table of more than " +
                                     std::to_string(limits::schedule_file_bytes_max) +
                                     " bytes is not read"};
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (auto taken = take_line(text.substr(0, end)); !taken)
            return taken.failure();
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    auto table = put_together();
    if (!table)
        return table.failure();
    if (const auto fault = find_fault(*table))
        return fail(*fault);
    made_.table = std::move(*table);
    return std::move(made_);
}

std::string cell_of(const schedule_step& step) {
    std::string cell = to_string(step);
    if (step.ahead > 0)
        cell += "+" + std::to_string(step.ahead);
    if (step.behind > 0)
        cell += "-" + std::to_string(step.behind);
    return cell;
}

// The words of the first line.
std::string words_for(const schedule_table& table) {
    const auto devices = static_cast<std::uint32_t>(table.devices.size());
    std::string words;
    if (table.replicas == 2 && table.device_of == mirrored_places(devices))
        words += " mirrored";
    if (!table.stashes_weights)
        words += " latest";
    return words.empty() ? words : "#" + words + "\n";
}

} // namespace

result<table_from_csv> read_schedule_csv(std::string_view text, const std::string& name) {
    return csv_reader{name}.read(text);
}

std::string write_schedule_csv(const schedule_table& table) {
    schedule_table plain = table;
    for (device_steps& d : plain.devices)
        std::erase_if(d.body, [](const schedule_step& s) { return s.kind == step_kind::update; });
    schedule_table with_updates = plain;
    append_updates(with_updates);
    const bool says_updates =
        with_updates != table; // they stand in other places than a reader adds
    std::string text = words_for(table);
    for (const device_steps& d : says_updates ? table.devices : plain.devices) {
        std::string row;
        for (const schedule_step& s : d.warm_up)
            row += cell_of(s) + ",";
        if (!d.warm_up.empty())
            row += "|,";
        for (const schedule_step& s : d.body)
            row += cell_of(s) + ",";
        if (!row.empty()) // a device without steps has idle cells, as an empty line is no row
            row.pop_back();
        else
            row = ",";
        text += row + "\n";
    }
    return text;
}

} // namespace troupe
