// Fuzz target: arbitrary bytes as the table of a schedule. A table that is taken is sound, can be timed, and is the same
// once it is written and read again.
#include "actors/pipeline/shape/schedule_checker.hpp"
#include "actors/pipeline/shape/schedule_csv.hpp"
#include "actors/pipeline/shape/schedule_timeline.hpp"
#include "actors/pipeline/shape/schedules.hpp"
#include "tests/fuzz/target.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    const auto read = read_schedule_csv(text_of(in), "table.csv");
    if (!read) {
        check_refusal(read.failure());
        return false;
    }
    const schedule_table& table = read->table;
    TROUPE_CHECK(check_table(table).ok(), "a table that is read is sound");
    const std::vector<std::uint32_t> epoch{table.microbatches, 1, (table.microbatches + 1) / 2};
    const std::vector<std::int64_t> ticks(table.chain_stages(), 1);
    TROUPE_CHECK((schedule_course{table, epoch, {ticks, ticks, ticks}}.run()),
                 "a table without a circle has none for a part of its work");
    const steady_pace pace = find_steady_pace(table, {.stages = {{}}});
    TROUPE_CHECK(fraction{0} <= pace.most_idle(), "no device works longer than the period");
    const auto again = read_schedule_csv(write_schedule_csv(table), "table.csv");
    TROUPE_CHECK(again.ok() && again->table.devices == table.devices, "what is written is read");
    return true;
}

std::vector<std::string> sound_inputs() {
    std::vector<std::string> all{"0UNSHARD,0F0,0SEND_F0,0F1,,0RECV_B0,0I0,0W0,0B1\r\n"
                                 "1RECV_F0,1F0,(1F1;1B0)OVERLAP_F_B,1WAIT_SEND_B0,1B1\r\n",
                                 "# v\n0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n",
                                 "# mirrored latest\n0F0,|,0F0+1-1,0B0,1F0,1B0,0U,1U\n"};
    for (const schedule_row& row : schedule_rows())
        for (const std::uint32_t devices : {1, 2, 4})
            if (const auto table = make_table(row.name, {.devices = devices, .microbatches = 4}))
                all.push_back(write_schedule_csv(*table));
    return all;
}

} // namespace troupe::fuzz
