#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include "actors/pipeline/shape/schedule_csv.hpp"
#include "tests/shared_data.hpp"
#include "tests/unit/actors_pipeline_shape/tables.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

const std::filesystem::path pytorch_tables =
    std::filesystem::path{TROUPE_SHARED_DATA} / "pytorch-tables";

std::string file_text(const std::filesystem::path& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

std::string why_not(const std::string& text) {
    const auto read = read_schedule_csv(text, "x.csv");
    return read ? std::string{"read"} : read.failure().message();
}

schedule_table read(const std::string& text) {
    auto table = read_schedule_csv(text, "x.csv");
    BOOST_REQUIRE_MESSAGE(table.ok(), (table ? "" : table.failure().message()));
    return std::move(table->table);
}

// The facts in the name of one of PyTorch's files.
struct file_of_pytorch {
    std::string schedule;
    table_request request;
};

file_of_pytorch parsed(const std::filesystem::path& path) {
    const std::string name = path.stem().string();
    const auto p = name.rfind("_p");
    const auto m = name.rfind("_m");
    file_of_pytorch file{name.substr(0, p), {}};
    file.request.devices = static_cast<std::uint32_t>(std::stoul(name.substr(p + 2)));
    file.request.microbatches = static_cast<std::uint32_t>(std::stoul(name.substr(m + 2)));
    return file;
}

std::vector<std::filesystem::path> files_of_pytorch() {
    std::vector<std::filesystem::path> files;
    if (std::filesystem::exists(pytorch_tables))
        for (const auto& entry : std::filesystem::directory_iterator{pytorch_tables})
            if (entry.path().extension() == ".csv")
                files.push_back(entry.path());
    if (files.empty())
        BOOST_TEST_MESSAGE("skipped: there are no tables in " << pytorch_tables);
    std::ranges::sort(files);
    return files;
}

struct same_as {
    std::string_view file; // how the names of PyTorch's tables begin
    std::string_view ours;
    std::uint32_t per_device;
};
constexpr same_as same_tables[] = {
    {"interleaved_1f1b", "interleaved", 2},        {"interleaved_1f1b_v3", "interleaved", 3},
    {"interleaved_zero_bubble", "zero_bubble", 2}, {"interleaved_zero_bubble_v1", "zero_bubble", 1},
    {"zbv_zero_bubble", "zero_bubble_v", 0},
};

} // namespace

BOOST_AUTO_TEST_SUITE(schedule_csv)

BOOST_AUTO_TEST_CASE(tables_are_read_as_pytorch_writes_them) {
    const auto read = read_schedule_csv("0UNSHARD,0F0,0SEND_F0,0F1,,0RECV_B0,0I0,0W0,0B1\r\n"
                                        "1RECV_F0,1F0,(1F1;1B0)OVERLAP_F_B,1WAIT_SEND_B0,1B1\r\n",
                                        "x.csv");
    BOOST_REQUIRE(read.ok());
    BOOST_TEST(row_of(read->table, 0) == "0F0 0F1 0I0 0W0 0B1");
    BOOST_TEST(row_of(read->table, 1) == "1F0 1F1 1B0 1B1");
    BOOST_TEST(read->passed_over == 5u);
    BOOST_TEST(read->pairs == 1u);
    BOOST_TEST((read->table.devices[1].body.back() == schedule_step{step_kind::update, 1}));
    BOOST_TEST(read->table.microbatches == 2u);
}

BOOST_AUTO_TEST_CASE(what_is_no_table_is_refused_with_its_place) {
    BOOST_TEST(why_not("") == "x.csv: line 1: no step; a row of them for each device is needed");
    BOOST_TEST(
        why_not("0F0,0B0\n1F0,1X0\n") ==
        "x.csv: line 2: row 2, column 2: \"1X0\" is no step; write stage, one of F, B, I and W, "
        "and microbatch, as 2F0");
    BOOST_TEST(
        why_not("0F0,0B0\n\n1F0,1B0,1SEND_G0") ==
        "x.csv: line 3: row 2, column 3: \"1SEND_G0\" is no step; write stage, one of F, B, I "
        "and W, and microbatch, as 2F0");
    BOOST_TEST(why_not("0F0,0B\x1b[31m\n").find("\x1b") == std::string::npos);
    BOOST_TEST(why_not("0F9999\n")
                   .starts_with("x.csv: line 1: row 1, column 1: \"0F9999\" has a number that is "
                                "too large; at most 2048 "));
    BOOST_TEST(why_not("0F12345678901\n").find("is no step") != std::string::npos);
    BOOST_TEST(
        why_not("# spiral\n0F0,0B0\n").starts_with("x.csv: line 1: \"spiral\" is not known"));
    BOOST_TEST(why_not("0F0,0B0\n# v\n") ==
               "x.csv: line 2: a line with # comes first; leave it out here");
    BOOST_TEST(why_not("0F0,0B0\n2F0,2B0\n") ==
               "x.csv: line 2: no row names stage 1; stages count from 0 without a gap");
    BOOST_TEST(why_not("0F0,0B0\n1F0,0F1,1B0\n") ==
               "x.csv: line 2: row 2, column 2: stage 0 stands in row 1, too; a stage lies on one "
               "device");
    BOOST_TEST(why_not("# v\n0F0,0B0\n1F0,1B0\n") ==
               "x.csv: line 1: # v asks for 4 stages on 2 rows; there are 2");
    BOOST_TEST(
        why_not("# loop\n1F0,1B0\n0F0,0B0\n") ==
        "x.csv: line 2: row 1, column 1: 1F0 stands in another row than its stage, which lies "
        "on row 2");
    BOOST_TEST(why_not("0F0,|,|,0B0\n") ==
               "x.csv: line 1: row 1, column 3: a second |; one stands between warm-up and body");
    BOOST_TEST(why_not("(0F0;0B0)OVERLAP\n").find("is no step") != std::string::npos);
    BOOST_TEST(why_not(std::string(300, '\n') + "0F0\n").find("line 301: row 1: 0B0 is missing") !=
               std::string::npos);
    std::string rows;
    for (int d = 0; d < 257; ++d)
        rows += "0F0\n";
    BOOST_TEST(why_not(rows) == "x.csv: line 257: more than 256 rows; a row is a device");
    BOOST_TEST(why_not(std::string(limits::schedule_file_bytes_max + 1, ',')) ==
               "x.csv: a table of more than 16777216 bytes is not read");
}

BOOST_AUTO_TEST_CASE(steps_that_break_a_rule_are_named_with_the_column_of_the_file) {
    // Columns are those of cells, also where some are passed over.
    BOOST_TEST(why_not("0F0,0B0\n1UNSHARD,,1B0,1F0\n") ==
               "x.csv: line 2: row 2, column 3: 1B0 before 1F0; list each step once, behind what "
               "it reads");
    BOOST_TEST(
        why_not("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,(1B1;1F1)OVERLAP_F_B\n") ==
        "x.csv: line 2: row 2, column 4: 1F1 twice; list each step once, behind what it reads");
    BOOST_TEST(why_not("0F0,0F1,0B0,0B1\n1F0,1F1,1B0\n") ==
               "x.csv: line 2: row 2: 1B1 is missing; add it to the row");
    BOOST_TEST(why_not("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n") ==
               "x.csv: line 1: row 1, column 2: 0B0 waits for 1B0, which is behind 1F1 of row 2, "
               "which waits for 0F1: a circle; list one of these steps at another place");
}

BOOST_AUTO_TEST_CASE(written_tables_are_read_again) {
    for (const schedule_row& row : schedule_rows())
        for (std::uint32_t p = 1; p <= 6; ++p)
            for (std::uint32_t m = 1; m <= 9; m += 2) {
                const auto table = make_table(row.name, {.devices = p, .microbatches = m});
                if (table)
                    BOOST_TEST((read(write_schedule_csv(*table)) == *table), row.name);
            }
    BOOST_TEST(write_schedule_csv(made("one_f_one_b", {.devices = 2, .microbatches = 2})) ==
               "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
    BOOST_TEST(write_schedule_csv(made("local_accumulation", {.devices = 2})) ==
               "# latest\n0F0-1,|,0F0+1-1,0B0\n1F0,1B0\n");
}

BOOST_AUTO_TEST_CASE(tables_are_those_of_pytorch_step_for_step) {
    for (const auto& path : files_of_pytorch()) {
        const file_of_pytorch file = parsed(path);
        const auto same = std::ranges::find(same_tables, file.schedule, &same_as::file);
        if (same == std::end(same_tables))
            continue;
        table_request request = file.request;
        request.stages_per_device = same->per_device;
        BOOST_TEST((read(file_text(path)) == made(same->ours, request)), path);
    }
}

BOOST_AUTO_TEST_CASE(all_other_tables_of_pytorch_are_sound) {
    for (const auto& path : files_of_pytorch()) {
        const std::string text = file_text(path);
        const auto table = read_schedule_csv(text, "x.csv");
        const file_of_pytorch file = parsed(path);
        if (file.schedule != "1f1b") {
            BOOST_TEST(table.ok(), path << ": " << (table ? "" : table.failure().message()));
            BOOST_TEST((table->passed_over > 0) ==
                       (file.schedule.starts_with("with_comms") || file.schedule == "gpipe"));
            BOOST_TEST((table->pairs > 0) == (file.schedule.starts_with("dual_pipe_v") ||
                                              file.schedule.ends_with("dualpipev")));
            continue;
        }
        // Its last row counts forwards from 1, as PyTorch prints it; its runtime has a loop of its own.
        const std::string last = std::to_string(file.request.devices);
        const std::string stage = std::to_string(file.request.devices - 1);
        BOOST_REQUIRE(!table.ok());
        BOOST_TEST(table.failure().message() ==
                   "x.csv: line " + last + ": row " + last + ", column 2: " + stage + "B0 before " +
                       stage + "F0; list each step once, behind what it reads");
        std::string mended = text;
        const auto row = mended.rfind("\n" + stage + "F1") + 1;
        for (std::uint32_t m = 1; m <= file.request.microbatches; ++m) {
            const std::string wrong = stage + "F" + std::to_string(m) + ",";
            mended.replace(mended.find(wrong, row), wrong.size(),
                           stage + "F" + std::to_string(m - 1) + ",");
        }
        BOOST_TEST((read(mended) == made("one_f_one_b", file.request)), path);
    }
}

BOOST_AUTO_TEST_SUITE_END()
