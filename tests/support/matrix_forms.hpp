// A matrix in a file as text, for tables of forms.
#pragma once

#include "actors/data/matrix/matrix_source.hpp"
#include "tests/support/file_forms.hpp"
#include "tests/support/matrix_values.hpp"

namespace troupe::test {

// "1 2 -> 3 / 4 5 -> 6": rows with zeros filled in, and their targets
inline reading matrix_in(const matrix_settings& settings) {
    auto source = open_matrix(settings);
    if (!source)
        return refusal(source);
    const matrix_values values = values_of(*source);
    std::string all;
    for (std::size_t r = 0; r < values.rows.size(); ++r) {
        all += (r == 0 ? "" : " / ") + shown_all(values.rows[r]);
        if (!values.targets.empty())
            all += " -> " + shown(values.targets[r]);
    }
    return {all, {}, source->notes()};
}

} // namespace troupe::test
