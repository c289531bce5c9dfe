// Reads and checks a result of the program "lasso".
#include <algorithm>
#include <limits>
#include <optional>

#include "actors/data/files/line_reader.hpp"
#include "actors/data/files/npy_elements.hpp"
#include "actors/data/files/text_number.hpp"
#include "actors/scheduled/damaged_result.hpp"
#include "apps/lasso/lasso_limits.hpp"
#include "apps/lasso/result_files.hpp"
#include "apps/lasso/trained.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/printable.hpp"
#include "schemas/base/quantities.hpp"

namespace troupe::lasso {

namespace {

constexpr std::uint64_t summary_bytes_max = 1u << 16;
constexpr std::size_t shown_bytes_max = 64;
constexpr std::size_t numbers_at_once = 1u << 16;

// The summary, which the other files must agree with.
struct summary {
    std::uint64_t columns = 0;
    std::uint64_t lambdas = 0;
    loss_kind loss = loss_kind::squared;
};

using scheduled::damaged_array;

error damaged(const std::filesystem::path& file, const std::string& sentence) {
    return scheduled::damaged_result(file, sentence);
}

result<json> read_summary_object(const std::filesystem::path& file) {
    auto in = input_file::open(file);
    if (!in)
        return in.failure();
    const auto length = file_length(file);
    if (!length)
        return length.failure();
    if (*length > summary_bytes_max)
        return damaged(file, "too long for a summary");
    const auto bytes = in->read_rest();
    if (!bytes)
        return bytes.failure();
    auto parsed = json::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    if (!parsed || !std::as_const(*parsed)["program"].text())
        return error{errc::data, file.string() +
                                     ": is no summary of a program; give the folder that lasso "
                                     "wrote (result.directory)"};
    return std::move(*parsed);
}

// Squares, of results from before there were others.
std::optional<loss_kind> read_loss(const json& summary) {
    const json* const found = summary.find("loss");
    if (found == nullptr)
        return loss_kind::squared;
    for (const loss_kind loss : {loss_kind::squared, loss_kind::logistic})
        if (*found == name_of(loss))
            return loss;
    return std::nullopt;
}

result<summary> read_summary(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / result_names::summary;
    std::error_code failed;
    if (!std::filesystem::exists(file, failed))
        return error{errc::usage, folder.string() +
                                      ": has no summary.json; give the folder that lasso wrote "
                                      "(result.directory)"};
    const auto parsed = read_summary_object(file);
    if (!parsed)
        return parsed.failure();
    const json& is = *parsed;
    const auto program = is["program"].text().value_or("");
    if (program != "lasso")
        return error{errc::usage, folder.string() + ": is a result of the program \"" +
                                      printable(program, shown_bytes_max) +
                                      "\"; give the folder that lasso wrote (result.directory)"};
    const auto columns = is["columns"].count(), lambdas = is["lambdas"].count();
    if (!columns || !lambdas || *columns == 0 || *columns >= limits::columns_max ||
        *lambdas > limits::coefficients_max / *columns)
        return damaged(file, "columns or lambdas are not what they may be");
    if (*lambdas == 0)
        return error{errc::usage, folder.string() + ": has no coefficients, as its run was stopped "
                                                    "before the first were known"};
    const auto loss = read_loss(*parsed);
    if (!loss)
        return damaged(file, "the loss is none that this build knows");
    return summary{*columns, *lambdas, *loss};
}

// lambda,objective,gap,nonzeros,intercept
result<std::vector<solution>> read_path(const std::filesystem::path& file, std::uint64_t lambdas) {
    auto lines = line_reader::open(file.string());
    if (!lines)
        return lines.failure();
    std::vector<solution> all;
    const auto header = lines->next();
    if (!header)
        return header.failure();
    const auto damaged_line = [&](const std::string& sentence) {
        return damaged(file, "line " + std::to_string(lines->line()) + ": " + sentence);
    };
    if (*header != path_header)
        return damaged_line("does not begin with " + std::string{path_header});
    for (;;) {
        const auto line = lines->next_filled();
        if (!line)
            return line.failure();
        if (!*line)
            break;
        std::vector<double> numbers;
        for (std::size_t at = 0; at <= (*line)->size();) {
            const std::size_t end = std::min((*line)->find(',', at), (*line)->size());
            const auto number = text_number((*line)->substr(at, end - at));
            if (!number || numbers.size() == 5)
                return damaged_line("is not five numbers");
            numbers.push_back(*number);
            at = end + 1;
        }
        if (numbers.size() != 5)
            return damaged_line("is not five numbers");
        if (all.size() == lambdas)
            return damaged(file, "more lines than the summary has lambdas");
        all.push_back({{numbers[0], numbers[1], numbers[2], numbers[4], numbers[3]}, {}, {}});
    }
    if (all.size() < lambdas)
        return damaged(file, "fewer lines than the summary has lambdas");
    return all;
}

// An array of float64 of this shape.
result<npy_elements> open_array(const std::filesystem::path& file,
                                const std::vector<std::size_t>& shape) {
    auto array = npy_elements::open(file.string());
    if (!array)
        return damaged_array(file, array.failure());
    if (array->header().type != npy_type::f8 || array->header().shape != shape)
        return damaged(file, "is not float64 of as many numbers as the summary says");
    return array;
}

// Calls `with` with each number that is not 0 and its column, row by row.
template <class With>
result<void> each_number(npy_elements& array, std::uint64_t columns, With with) {
    std::vector<double> numbers;
    for (std::uint64_t at = 0; at < columns; at += numbers.size()) {
        numbers.resize(std::min<std::uint64_t>(numbers_at_once, columns - at));
        if (auto read = array.read(std::span{numbers}); !read)
            return read;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (auto done = with(at + i, numbers[i]); !done)
                return done;
    }
    return {};
}

result<void> read_coefficients(const std::filesystem::path& file, std::uint64_t columns,
                               std::vector<solution>& to) {
    auto array = open_array(file, {to.size(), static_cast<std::size_t>(columns)});
    if (!array)
        return array.failure();
    for (solution& s : to) {
        const auto take = [&](std::uint64_t column, double value) {
            if (value != 0) {
                s.columns.push_back(static_cast<std::int32_t>(column));
                s.values.push_back(value);
            }
            return result<void>{};
        };
        if (auto read = each_number(*array, columns, take); !read)
            return damaged_array(file, read.failure());
        if (static_cast<double>(s.columns.size()) != s.numbers.used)
            return damaged(file, counted(s.columns.size(), "coefficient") +
                                     " where path.csv has another number");
    }
    const auto end = array->expect_end();
    return end ? end : damaged_array(file, end.failure());
}

// Coefficients of the columns as they are in files, from those of the scaled ones.
result<void> unscale(const std::filesystem::path& file, std::uint64_t columns,
                     std::vector<solution>& solutions) {
    auto array = open_array(file, {static_cast<std::size_t>(columns)});
    if (!array)
        return array.failure();
    std::vector<std::size_t> at(solutions.size());
    const auto divide = [&](std::uint64_t column, double scale) -> result<void> {
        if (!(scale > 0))
            return array->fail("is not more than 0");
        for (std::size_t s = 0; s < solutions.size(); ++s) {
            solution& to = solutions[s];
            if (at[s] < to.columns.size() &&
                static_cast<std::uint64_t>(to.columns[at[s]]) == column)
                to.values[at[s]++] /= scale;
        }
        return {};
    };
    auto read = each_number(*array, columns, divide);
    if (read)
        read = array->expect_end();
    return read ? read : damaged_array(file, read.failure());
}

result<std::vector<std::string>> read_names(const std::filesystem::path& file,
                                            std::uint64_t columns) {
    auto lines = line_reader::open(file.string());
    if (!lines)
        return lines.failure();
    std::vector<std::string> names;
    for (;;) {
        const auto line = lines->next();
        if (!line)
            return line.failure();
        if (!*line)
            break;
        if (names.size() == columns)
            return damaged(file, "more lines than columns");
        names.emplace_back(**line);
    }
    if (names.size() < columns)
        return damaged(file, "fewer lines than columns");
    return names;
}

} // namespace

result<trained_lasso> read_result(const std::filesystem::path& folder, bool is_scaled) {
    const auto said = read_summary(folder);
    if (!said)
        return said.failure();
    auto solutions = read_path(folder / result_names::path, said->lambdas);
    if (!solutions)
        return solutions.failure();
    if (auto read =
            read_coefficients(folder / result_names::coefficients, said->columns, *solutions);
        !read)
        return read.failure();
    std::error_code failed;
    const std::filesystem::path scales = folder / result_names::scales;
    const bool has_scales = std::filesystem::exists(scales, failed);
    if (has_scales != is_scaled)
        return error{errc::usage,
                     folder.string() + ": is of a run " + (has_scales ? "with" : "without") +
                         " data.scale: unit_norm; give the app file that it was made with"};
    if (has_scales)
        if (auto unscaled = unscale(scales, said->columns, *solutions); !unscaled)
            return unscaled.failure();
    trained_lasso model{said->columns, std::move(*solutions), {}, said->loss};
    const std::filesystem::path columns = folder / result_names::columns;
    if (std::filesystem::exists(columns, failed)) {
        auto names = read_names(columns, said->columns);
        if (!names)
            return names.failure();
        model.column_names = std::move(*names);
    }
    return model;
}

} // namespace troupe::lasso
