// What is in matrices that other programs have saved, for matrix_files.py to compare: for every name one JSON object per
// line, with the rows, or with why it is refused. FEATURES@TARGETS has targets in a file of their own.
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>

#include "actors/data/matrix/matrix_source.hpp"

using namespace troupe;

namespace {

nlohmann::json rows_of(matrix_source& source) {
    constexpr std::uint64_t block_bytes = 4096;
    const matrix_shape& shape = source.shape();
    nlohmann::json rows = nlohmann::json::array(), targets = nlohmann::json::array();
    for (;;) {
        const auto next = source.next(block_bytes);
        if (!next)
            return {{"refused", next.failure().message()}};
        if (!*next)
            break;
        const row_block& block = **next;
        for (std::size_t r = 0; r < block.rows; ++r) {
            std::vector<double> row(shape.columns);
            const std::size_t entries = source.row_entries(block.first_row + r);
            const std::size_t first =
                shape.is_sparse ? static_cast<std::size_t>(block.starts[r]) : r * shape.columns;
            for (std::size_t i = 0; i < entries; ++i)
                row[shape.is_sparse ? static_cast<std::size_t>(block.indices[first + i]) : i] =
                    block.values[first + i];
            rows.push_back(row);
        }
        for (const double target : block.targets)
            targets.push_back(target);
    }
    return {{"rows", rows},
            {"targets", targets},
            {"sparse", shape.is_sparse},
            {"entries", shape.entries}};
}

nlohmann::json described(const std::string& name) {
    const std::size_t at = name.rfind('@');
    matrix_settings settings;
    settings.features.path = name.substr(0, at);
    if (at != std::string::npos)
        settings.targets.path = name.substr(at + 1);
    auto source = open_matrix(settings);
    return source ? rows_of(*source) : nlohmann::json{{"refused", source.failure().message()}};
}

} // namespace

int main(int count, char** names) {
    for (int i = 1; i < count; ++i)
        std::puts(described(names[i]).dump().c_str());
}
