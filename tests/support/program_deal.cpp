// The driver's data, as its workers are dealt it.
#include <algorithm>

#include "tests/support/program_driver.hpp"

namespace troupe::test {

result<void> program_driver::deal(scheduled::worker_part& worker,
                                  const scheduled::number_range& share) {
    const auto part = [](const auto& all, std::uint64_t first, std::uint64_t end) {
        return std::span{all}.subspan(first, end - first);
    };
    for (std::uint64_t done = 0; done < share.count; done += run_.rows_per_piece) {
        const std::uint64_t first = share.first + done;
        const std::uint64_t end =
            first + std::min(run_.rows_per_piece, share.count - done);        // of the rows
        std::uint64_t from = first * rows_.columns, to = end * rows_.columns; // of the values
        std::vector<std::int64_t> starts;
        if (rows_.is_sparse()) {
            from = static_cast<std::uint64_t>(rows_.starts[first]);
            to = static_cast<std::uint64_t>(rows_.starts[end]);
            for (std::uint64_t i = first; i <= end; ++i)
                starts.push_back(rows_.starts[i] - rows_.starts[first]);
        }
        auto piece = scheduled::payload_of(
            memory_, starts,
            rows_.is_sparse() ? part(rows_.indices, from, to) : std::span<const std::int32_t>{},
            part(rows_.values, from, to), part(rows_.targets, first, end));
        if (!piece)
            return piece.failure();
        if (auto taken = worker.take_data(*piece); !taken)
            return taken;
    }
    return worker.data_is_complete();
}

result<void> program_driver::deal_source(scheduled::worker_part& worker) {
    if (auto rewound = run_.source->rewind(); !rewound)
        return rewound;
    for (;;) {
        auto piece = run_.source->next(run_.rows_per_piece, memory_);
        if (!piece)
            return piece.failure();
        if (!*piece)
            return worker.data_is_complete();
        if (auto taken = worker.take_data((*piece)->tensors); !taken)
            return taken;
    }
}

} // namespace troupe::test
