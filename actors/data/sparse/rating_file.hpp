// The ratings in a file, in its order: what ratings.hpp reads.
#pragma once

#include <functional>

#include "actors/data/sparse/ratings.hpp"

namespace troupe {

struct rating {
    std::uint64_t user = 0;
    std::uint64_t item = 0;
    double value = 0;
};

// Gives each rating to `take`, which says why it cannot be taken, and what to do, or nothing. Errors: as in ratings.hpp,
// without a key.
result<void> for_each_rating(const std::string& path,
                             const std::function<std::string(const rating&)>& take);

} // namespace troupe
