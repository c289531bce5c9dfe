#include "apps/lda/block_rows.hpp"

#include <algorithm>

#include "apps/lda/lda_limits.hpp"

namespace troupe::lda {

result<block_reader> block_reader::open(const scheduled::payload& block, std::uint64_t words) {
    auto starts = scheduled::read<std::int64_t>(block, 0, words + 1, "the starts of a block");
    auto rows = scheduled::read<std::int32_t>(block, 1, "the rows of a block");
    if (const error* failure = scheduled::first_failure(starts, rows))
        return *failure;
    if (starts->front() != 0 || starts->back() != static_cast<std::int64_t>(rows->size()) ||
        !std::ranges::is_sorted(*starts))
        return error{errc::protocol, "the rows of a block of words do not lie one behind the "
                                     "other"};
    block_reader made;
    made.starts_ = *starts;
    made.rows_ = *rows;
    return made;
}

result<scheduled::payload> block_writer::finish(memory_pool& memory) const {
    if (rows_.size() > limits::block_numbers_max)
        return error{errc::usage, "a block of words has more than 1 GiB of counts; use more of "
                                  "schedule.rotation.blocks_per_worker, or more workers"};
    return scheduled::payload_of(memory, starts_, rows_);
}

result<scheduled::payload> empty_block(memory_pool& memory, std::uint64_t words) {
    return scheduled::payload_of(memory, std::vector<std::int64_t>(words + 1),
                                 std::vector<std::int32_t>{});
}

} // namespace troupe::lda
