// What is in a matrix_source, for tests to compare.
#pragma once

#include <boost/test/unit_test.hpp>

#include "actors/data/matrix/matrix_source.hpp"
#include "tests/support/data_files.hpp"

namespace troupe::test {

struct matrix_values {
    std::vector<std::vector<double>> rows; // zeros filled in
    std::vector<double> targets;
    std::vector<std::uint32_t> blocks; // rows of each
};

// Reads all blocks that follow, and checks that each is one.
inline matrix_values values_of(matrix_source& source, std::uint64_t bytes_max = 1u << 20) {
    const matrix_shape& shape = source.shape();
    matrix_values all;
    for (;;) {
        auto next = source.next(bytes_max);
        BOOST_REQUIRE_MESSAGE(next.ok(), (next.ok() ? "" : next.failure().message()));
        if (!*next)
            break;
        const row_block& block = **next;
        BOOST_TEST(block.first_row == all.rows.size());
        BOOST_TEST(block.starts.size() == (shape.is_sparse ? block.rows + 1 : 0));
        BOOST_TEST(block.targets.size() == (shape.has_targets ? block.rows : 0));
        for (std::uint32_t r = 0; r < block.rows; ++r) {
            auto& row = all.rows.emplace_back(shape.columns);
            const std::size_t first =
                shape.is_sparse ? static_cast<std::size_t>(block.starts[r]) : r * shape.columns;
            const std::size_t entries = source.row_entries(block.first_row + r);
            if (shape.is_sparse)
                BOOST_TEST(static_cast<std::size_t>(block.starts[r + 1]) == first + entries);
            for (std::size_t i = 0; i < entries; ++i)
                row[shape.is_sparse ? static_cast<std::size_t>(block.indices[first + i]) : i] =
                    block.values[first + i];
        }
        all.targets.insert(all.targets.end(), block.targets.begin(), block.targets.end());
        all.blocks.push_back(block.rows);
    }
    return all;
}

inline matrix_settings features_in(const std::string& path) {
    return {.features = {path, ""}};
}

// The rows of a file that is read.
inline std::vector<std::vector<double>> rows_of(const matrix_settings& settings) {
    auto source = open_matrix(settings);
    BOOST_REQUIRE_MESSAGE(source.ok(), (source.ok() ? "" : source.failure().message()));
    return values_of(*source).rows;
}

// What is said of a file that is not, without its folder.
inline std::string refused(const matrix_settings& settings, errc code = errc::data) {
    const std::string said = refusal_of(open_matrix(settings), code);
    const std::string folder =
        settings.features.path.substr(0, settings.features.path.rfind('/') + 1);
    std::string out;
    for (std::size_t at = 0; at < said.size();)
        if (said.compare(at, folder.size(), folder) == 0)
            at += folder.size();
        else
            out += said[at++];
    return out;
}

} // namespace troupe::test
