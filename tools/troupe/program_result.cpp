#include "tools/troupe/program_result.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "actors/scheduled/open_data.hpp"
#include "actors/scheduled/part_call.hpp"
#include "actors/scheduled/program_run.hpp"
#include "actors/scheduled/result_mark.hpp"
#include "actors/scheduled/written_files.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/quantities.hpp"
#include "tools/troupe/number_words.hpp"
#include "tools/troupe/run_setup.hpp"
#include "tools/troupe/signals.hpp"

namespace troupe::cli {

namespace {

using namespace scheduled;

// Ends with errc::cancelled after a signal.
class interruptible_rows final : public piece_source {
  public:
    explicit interruptible_rows(std::shared_ptr<piece_source> from) : from_{std::move(from)} {}

    data_shape shape() const override { return from_->shape(); }
    std::uint64_t row_work(std::uint64_t row) const override { return from_->row_work(row); }
    std::uint64_t column_work(std::uint64_t column) const override {
        return from_->column_work(column);
    }
    std::vector<std::string> column_names() const override { return from_->column_names(); }
    std::vector<std::string> row_names() const override { return from_->row_names(); }
    std::vector<double> offsets() const override { return from_->offsets(); }
    std::vector<std::string> notes() const override { return from_->notes(); }
    std::vector<data_digest> digests() const override { return from_->digests(); }
    std::uint64_t row_entries(std::uint64_t row) const override { return from_->row_entries(row); }
    result<std::optional<rows_piece>> next(std::uint64_t rows_max, memory_pool& memory) override {
        if (stop_signals() > 0)
            return error{errc::cancelled, "stopped after " + std::to_string(done_) + " of " +
                                              counted(from_->shape().rows, "row")};
        auto piece = from_->next(rows_max, memory);
        if (piece && *piece)
            done_ += (*piece)->count;
        return piece;
    }
    result<void> rewind() override {
        done_ = 0;
        return from_->rewind();
    }

  private:
    const std::shared_ptr<piece_source> from_;
    std::uint64_t done_ = 0;
};

const program& row_of(const program_app& app, const program_table& programs) {
    const auto row = std::ranges::find(programs, app.program(), &program::name);
    TROUPE_CHECK(row != programs.end(), "the language knows the programs of the table alone");
    return *row;
}

// The use that both commands hand to the program.
struct opened_result {
    memory_pool memory;
    std::unique_ptr<piece_source> rows;
    result_use use;

    explicit opened_result(std::uint64_t memory_mb) : memory{memory_mb << 20} {}
};

struct result_choice {
    std::string directory; // empty: the app file's
    data_use data;
};

result<void> open(const program_app& app, const result_choice& choice, opened_result& to) {
    std::filesystem::path directory = choice.directory;
    if (directory.empty() && !app.app().hasResult())
        return error{errc::usage, "RESULT: the app file names no folder by result.directory; give "
                                  "the one that the program wrote"};
    if (directory.empty())
        directory = app.app().getResult().getDirectory().cStr();
    std::error_code failed;
    if (!std::filesystem::is_directory(directory, failed))
        return error{errc::io, "RESULT: " + directory.string() +
                                   ": no such folder; give the one that the program wrote"};
    if (auto fits = check_result_mark(directory, app.program(), app.app().getData()); !fits)
        return fits.failure().message().starts_with("data.") ? app.at_its_place(fits.failure())
                                                             : fits.failure();
    auto data = open_data(app.app().getData(), choice.data);
    if (!data)
        return choice.data.file.empty() ? app.at_its_place(data.failure()) : data.failure();
    to.rows = std::make_unique<interruptible_rows>(std::move(*data));
    note_list{false}.add(to.rows->notes());
    result_use& use = to.use;
    use.settings = app.settings();
    use.schedule = read_schedule(app.app().getSchedule());
    use.stop = read_stop(app.app().getStop());
    use.memory = &to.memory;
    use.unit_norm = app.app().getData().getScale() == proto::ColumnScale::UNIT_NORM;
    use.seed = app.app().getSeed();
    use.data = to.rows->shape();
    use.directory = std::move(directory);
    use.rows = to.rows.get();
    use.has_other_data = !choice.data.file.empty();
    use.column_names = to.rows->column_names();
    return {};
}

int refuse(const error& why) {
    if (why.code() == errc::exhausted)
        return report({why.code(), why.message() + "; use fewer rows, or a larger bound: "
                                                   "--memory-mb"});
    return why.code() == errc::cancelled ? stopped(why) : report(why);
}

std::string line_of(const json& object) {
    return object.dump();
}

// ---- predictions as CSV ----

class csv_table final : public prediction_table {
  public:
    explicit csv_table(std::ostream& out) : out_{out} {}

    result<void> begin(const std::vector<std::string>& columns) override {
        columns_ = columns.size();
        line_.clear();
        fields_ = 0;
        for (const std::string& name : columns)
            add_field(field_of(name));
        return end_line();
    }
    result<void> add(std::span<const std::string> texts, std::span<const double> numbers) override {
        TROUPE_CHECK(texts.size() + numbers.size() == columns_, "a field for each column");
        ++lines_;
        line_.clear();
        fields_ = 0;
        for (const std::string& text : texts)
            add_field(field_of(text));
        for (const double number : numbers)
            add_field(text_of(number));
        return end_line();
    }

    std::uint64_t lines() const noexcept { return lines_; }

  private:
    void add_field(std::string_view text) {
        if (fields_++ > 0)
            line_ += ',';
        line_ += text;
    }
    result<void> end_line() {
        line_ += '\n';
        errno = 0;
        if (out_ << line_)
            return {};
        return error{errc::io, errno ? std::strerror(errno) : "it is full or closed"};
    }

    std::ostream& out_;
    std::string line_;
    std::size_t columns_ = 0, fields_ = 0; // of a line, and of this line as far as it is there
    std::uint64_t lines_ = 0;
};

// Returns the lines. A regular file is complete, or not there: another one beside it takes its place at the end.
result<std::uint64_t> predict_to_file(const program& what, const result_use& use,
                                      const std::filesystem::path& file) {
    std::error_code failed;
    const bool is_device =
        std::filesystem::exists(file, failed) && !std::filesystem::is_regular_file(file, failed);
    const std::filesystem::path part =
        is_device ? file : std::filesystem::path{file.string() + ".part"};
    const auto unwritten = [&](const std::string& why) {
        return error{errc::io, "--out: " + file.string() + ": cannot be written: " + why};
    };
    errno = 0;
    std::ofstream out{part, std::ios::binary | std::ios::trunc};
    if (!out)
        return unwritten(std::strerror(errno));
    csv_table table{out};
    auto done = call_program(what.name, "predict", [&] { return what.predict(use, table); });
    const bool is_full = !out;
    errno = 0;
    out.close();
    failed.clear();
    if (done && !out)
        done = unwritten(errno ? std::strerror(errno) : "it is full");
    if (done && !is_device)
        std::filesystem::rename(part, file, failed);
    if (done && !failed)
        return table.lines();
    std::error_code ignored;
    if (!is_device)
        std::filesystem::remove(part, ignored);
    if (done)
        return unwritten(failed.message());
    return is_full ? unwritten(done.failure().message()) : done.failure();
}

} // namespace

int evaluate_program(const program_app& app, const program_table& programs,
                     const evaluate_options& options) {
    const program& what = row_of(app, programs);
    if (!options.weights.empty())
        return report({errc::usage, "--weights is for networks; what a program has found is named "
                                    "by RESULT"});
    if (!what.score)
        return report(app.error_at(app.path_of(""), "does not say how well a result fits data"));
    opened_result opened{options.memory_mb};
    if (auto done = open(app,
                         {options.result,
                          {.needs_targets = what.needs_targets,
                           .takes_offsets = static_cast<bool>(what.takes_offsets),
                           .takes_remainders = what.takes_remainders,
                           .file = options.data}},
                         opened);
        !done)
        return report(done.failure());
    const auto solutions = call_program(what.name, "score", [&] { return what.score(opened.use); });
    if (!solutions)
        return refuse(solutions.failure());
    for (const auto& numbers : *solutions) {
        if (options.json) {
            json line = {{"event", "evaluation"},
                         {"program", what.name},
                         {"result", opened.use.directory.string()},
                         {"rows", opened.use.data.rows}};
            add_numbers(line, numbers);
            std::cout << line_of(line) << '\n';
            continue;
        }
        for (const named_number& n : numbers)
            std::cout << words_of(n, " %.2f%%") << "  ";
        std::cout << "of " << opened.use.directory.string() << '\n';
    }
    return 0;
}

int predict_by_program(const program_app& app, const program_table& programs,
                       const predict_options& options) {
    const program& what = row_of(app, programs);
    if (!what.predict)
        return report(app.error_at(app.path_of(""), "predicts nothing"));
    std::error_code failed; // a name that no file can have is refused when it is opened
    if (!options.out.empty() && !options.force && std::filesystem::exists(options.out, failed))
        return report({errc::usage, "--out: " + options.out +
                                        ": is there already; name another file, or replace it by "
                                        "--force"});
    opened_result opened{options.memory_mb};
    if (auto done = open(app,
                         {options.result,
                          {.ignores_targets = true,
                           .takes_offsets = static_cast<bool>(what.takes_offsets),
                           .takes_remainders = what.takes_remainders,
                           .file = options.data}},
                         opened);
        !done)
        return report(done.failure());
    if (options.out.empty()) {
        csv_table table{std::cout};
        const auto done =
            call_program(what.name, "predict", [&] { return what.predict(opened.use, table); });
        if (done || !std::cout) // which is said once, where all output is checked
            return 0;
        return refuse(done.failure());
    }
    const auto lines = predict_to_file(what, opened.use, options.out);
    if (!lines)
        return refuse(lines.failure());
    if (options.json)
        std::cout << line_of({{"event", "predictions"},
                              {"program", what.name},
                              {"result", opened.use.directory.string()},
                              {"rows", opened.use.data.rows},
                              {"lines", *lines},
                              {"file", options.out}})
                  << '\n';
    else
        std::cout << opened.use.directory.string() << " -> " << options.out << ": "
                  << counted(*lines, "line") << '\n';
    return 0;
}

} // namespace troupe::cli
