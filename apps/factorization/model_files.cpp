#include "apps/factorization/model_files.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "actors/data/files/npy_elements.hpp"
#include "actors/scheduled/damaged_result.hpp"
#include "actors/scheduled/written_files.hpp"
#include "apps/factorization/factorization_limits.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/limits.hpp"

namespace troupe::factorization {

namespace {

constexpr std::uint64_t description_bytes_max = 1u << 16;
// A name may be of 128 bytes, which may be written as several each.
constexpr std::uint64_t name_line_bytes_max = 4 * troupe::limits::name_bytes_max + 1;

struct array_file {
    const char* name;
    std::vector<float> factor_model::*values;
    bool is_of_users;
    bool is_biases;
};
constexpr array_file array_files[] = {
    {"user_factors.npy", &factor_model::user_factors, true, false},
    {"item_factors.npy", &factor_model::item_factors, false, false},
    {"user_biases.npy", &factor_model::user_biases, true, true},
    {"item_biases.npy", &factor_model::item_biases, false, true}};

struct name_file {
    const char* name;
    std::vector<std::string> factor_model::*names;
    std::uint64_t factor_model::*count;
};
constexpr name_file name_files[] = {
    {"user_names.txt", &factor_model::user_names, &factor_model::users},
    {"item_names.txt", &factor_model::item_names, &factor_model::items}};

std::vector<std::size_t> shape_of(const array_file& file, const factor_model& model) {
    const std::size_t rows = file.is_of_users ? model.users : model.items;
    return file.is_biases ? std::vector<std::size_t>{rows}
                          : std::vector<std::size_t>{rows, model.rank};
}

result<std::vector<float>> read_array(const std::filesystem::path& path,
                                      const std::vector<std::size_t>& shape) {
    auto elements = npy_elements::open(path.string());
    if (!elements)
        return scheduled::damaged_array(path, elements.failure());
    if (elements->header().shape != shape)
        return scheduled::damaged_result(path, "its shape is not the one that model.json says");
    std::vector<float> values(elements->header().elements);
    auto read = elements->read(values);
    if (read)
        read = elements->expect_end();
    if (!read)
        return scheduled::damaged_array(path, read.failure());
    return values;
}

// Line by line; none if there is no such file.
result<std::vector<std::string>> read_names(const std::filesystem::path& path,
                                            std::uint64_t count) {
    std::error_code failed;
    if (!std::filesystem::exists(path, failed))
        return std::vector<std::string>{};
    const auto length = file_length(path);
    if (!length)
        return length.failure();
    if (*length / name_line_bytes_max > count)
        return scheduled::damaged_result(path, "too long for the names that model.json says");
    std::ifstream file{path, std::ios::binary};
    std::vector<std::string> names;
    for (std::string line; names.size() <= count && std::getline(file, line);)
        names.push_back(std::move(line));
    if (names.size() != count)
        return scheduled::damaged_result(path, "has not as many lines as model.json says");
    return names;
}

// A whole number of at least 1 and at most `max`; 0 if there is none.
std::uint64_t count_in(const json& map, const char* key, std::uint64_t max) {
    return map[key].count(max).value_or(0);
}

result<factor_model> read_description(const std::filesystem::path& path) {
    errno = 0;
    std::ifstream file{path, std::ios::binary};
    const auto length = file_length(path);
    if (file && length && *length > description_bytes_max)
        return error{errc::data, path.string() +
                                     ": too long for the model.json of a factorization; "
                                     "name the folder of the result of such a run"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    if (!file)
        return error{errc::io, path.string() + ": cannot be read: " + std::strerror(errno)};
    const json described = json::parse(text).value_or(nullptr);
    const error wrong{errc::data, path.string() + ": not the model.json of a factorization; name "
                                                  "the folder of the result of such a run"};
    if (described["program"] != "factorization")
        return wrong;
    factor_model model;
    model.rank = static_cast<std::uint32_t>(count_in(described, "rank", 4096));
    model.users = count_in(described, "users", limits::rows_max);
    model.items = count_in(described, "items", limits::rows_max);
    const auto mean = described["mean"].number();
    const auto has_biases = described["biases"].boolean();
    if (model.rank == 0 || model.users == 0 || model.items == 0 || !mean || !has_biases)
        return wrong;
    model.mean = *mean;
    model.has_biases = *has_biases;
    return model;
}

} // namespace

result<std::vector<std::string>> write_model(const std::filesystem::path& directory,
                                             const factor_model& model, const json& facts) {
    json described;
    described["program"] = "factorization";
    described["rank"] = model.rank;
    described["users"] = model.users;
    described["items"] = model.items;
    described["biases"] = model.has_biases;
    described["mean"] = model.mean;
    if (facts.is_object())
        described.update(facts);
    std::vector<std::string> names{"model.json"};
    if (auto written = scheduled::write_file(
            directory / names.front(), [&](std::ofstream& f) { f << described.dump(2) << '\n'; });
        !written)
        return written.failure();
    for (const array_file& file : array_files) {
        if (file.is_biases && !model.has_biases)
            continue;
        const auto write = [&](std::ofstream& f) {
            const std::vector<std::size_t> shape = shape_of(file, model);
            const std::vector<float>& values = model.*file.values;
            f << scheduled::npy_header_of("<f4", shape);
            scheduled::write_bytes(f, scheduled::bytes_of(std::span{values}));
        };
        if (auto written = scheduled::write_file(directory / file.name, write); !written)
            return written.failure();
        names.emplace_back(file.name);
    }
    for (const name_file& file : name_files) {
        const std::vector<std::string>& lines = model.*file.names;
        if (lines.empty()) { // may be there from another run
            std::error_code ignored;
            std::filesystem::remove(directory / file.name, ignored);
            continue;
        }
        const auto write = [&](std::ofstream& f) {
            for (const std::string& line : lines)
                f << line << '\n';
        };
        if (auto written = scheduled::write_file(directory / file.name, write); !written)
            return written.failure();
        names.emplace_back(file.name);
    }
    return names;
}

result<factor_model> load_model(const std::filesystem::path& directory) {
    auto model = read_description(directory / "model.json");
    if (!model)
        return model;
    for (const array_file& file : array_files) {
        std::vector<float>& values = *model.*file.values;
        if (file.is_biases && !model->has_biases) {
            values.assign(file.is_of_users ? model->users : model->items, 0.0F);
            continue;
        }
        auto read = read_array(directory / file.name, shape_of(file, *model));
        if (!read)
            return read.failure();
        values = std::move(*read);
    }
    for (const name_file& file : name_files) {
        auto names = read_names(directory / file.name, *model.*file.count);
        if (!names)
            return names.failure();
        *model.*file.names = std::move(*names);
    }
    return model;
}

} // namespace troupe::factorization
