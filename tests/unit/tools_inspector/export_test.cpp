// Exports to files: whole, or nothing is left behind.
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/unit/tools_inspector/look.hpp"
#include "tools/inspector/chrome_trace.hpp"

using namespace troupe;
using namespace troupe::inspector;

namespace {

// A folder that is empty at the start and whose content can be looked at in the end.
struct empty_folder {
    empty_folder()
        : path{std::filesystem::temp_directory_path() /
               ("inspect_test_" + std::to_string(::getpid()))} {
        std::filesystem::create_directories(path);
    }
    ~empty_folder() { std::filesystem::remove_all(path); }
    bool empty() const { return std::filesystem::is_empty(path); }
    std::string file(const char* name) const { return (path / name).string(); }
    std::filesystem::path path;
};

} // namespace

BOOST_AUTO_TEST_SUITE(inspector_exports)

BOOST_AUTO_TEST_CASE(an_export_writes_the_whole_file) {
    const empty_folder folder;
    two_nodes cluster{700}; // more events than fit into one answer
    const outcome seen = look(cluster, {"export", folder.file("trace.json")});
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows(" slices, "));
    BOOST_TEST(seen.talk == "");
    const std::string command = "python3 " TROUPE_SOURCE_ROOT "/tests/interop/validate_trace.py " +
                                folder.file("trace.json") + " >/dev/null";
    BOOST_TEST(std::system(command.c_str()) == 0);
    BOOST_TEST(!std::filesystem::exists(folder.file("trace.json.part")));
}

BOOST_AUTO_TEST_CASE(an_export_of_some_seconds_leaves_the_past_out) {
    const empty_folder folder;
    two_nodes cluster{10};
    inspect_options options = json();
    options.seconds = std::chrono::milliseconds{30};
    const outcome seen = look(cluster, {"export", folder.file("trace.json")}, options);
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows(R"("slices":0,)"));
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_leaves_nothing_behind) {
    const empty_folder folder;
    two_nodes cluster{10};
    const outcome seen = look(cluster, {"export", folder.file("no/such/folder.json")});
    BOOST_TEST(seen.code == 2);
    BOOST_TEST(seen.says("cannot be written: No such file or directory"));
    BOOST_TEST(folder.empty());
}

BOOST_AUTO_TEST_CASE(what_is_no_ordinary_file_is_not_replaced) {
    two_nodes cluster{1};
    const outcome seen = look(cluster, {"export", "/dev/null"});
    BOOST_TEST(seen.code == 2);
    BOOST_TEST(seen.talk == "troupe inspect: /dev/null is no ordinary file\n");
    BOOST_TEST(std::filesystem::is_character_file("/dev/null"));
}

BOOST_AUTO_TEST_CASE(only_an_empty_file_or_an_older_trace_is_replaced) {
    const empty_folder folder;
    const std::string file = folder.file("app.yaml");
    for (const char* text : {"", "troupe: 1\ndata: {}\n", "{}"}) {
        std::ofstream{file} << text;
        two_nodes cluster{1};
        const outcome seen = look(cluster, {"export", file});
        BOOST_TEST(seen.code == (*text == '\0' ? 0 : 2));
        BOOST_TEST(seen.says("app.yaml is there and is no trace") == (*text != '\0'));
        BOOST_TEST((std::filesystem::file_size(file) == std::strlen(text)) == (*text != '\0'));
    }
    two_nodes cluster{1};
    const std::string again = folder.file("again.json");
    BOOST_TEST(look(cluster, {"export", again}).code == 0);
    BOOST_TEST(look(cluster, {"export", again}).code == 0);
}

BOOST_AUTO_TEST_CASE(a_full_disk_leaves_nothing_behind_and_the_file_of_before) {
    const empty_folder folder;
    std::ofstream{folder.file("trace.json")} << trace_begins;
    two_nodes cluster{100};
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{10'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    const outcome seen = look(cluster, {"export", folder.file("trace.json")});
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    BOOST_TEST(seen.code == 2);
    BOOST_TEST(seen.says("is the disk full?"));
    BOOST_TEST(!std::filesystem::exists(folder.file("trace.json.part")));
    BOOST_TEST(std::filesystem::file_size(folder.file("trace.json")) == trace_begins.size());
}

BOOST_AUTO_TEST_CASE(events_with_times_that_make_no_sense_are_left_out_and_counted) {
    const empty_folder folder;
    two_nodes cluster{1};
    cluster.at(1).events[0].started_ns = std::numeric_limits<std::int64_t>::min();
    cluster.at(1).events[1].ended_ns = std::numeric_limits<std::int64_t>::max();
    const outcome seen = look(cluster, {"export", folder.file("trace.json")}, json());
    BOOST_TEST(seen.code == 0);
    BOOST_TEST(seen.shows(R"("events_invalid":2)"));
}

BOOST_AUTO_TEST_SUITE_END()
