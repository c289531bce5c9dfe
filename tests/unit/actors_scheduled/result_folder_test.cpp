// Results appear whole, or what was there before stays.
#include <boost/test/unit_test.hpp>

#include <csignal>
#include <fstream>
#include <iterator>

#include <sys/resource.h>

#include "actors/scheduled/result_folder.hpp"
#include "actors/scheduled/result_mark.hpp"
#include "actors/scheduled/written_files.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::scheduled;
namespace fs = std::filesystem;
using strings = std::vector<std::string>;

namespace {

struct result_disk {
    test::temporary_folder own;
    const fs::path folder = own.path() / "a/result";
    const std::string mark = "{\"program\": \"chain\"}";

    // Files of this text.
    result<strings> write(const strings& names, const std::string& text) const {
        return write_into_place(folder, mark, [&](const fs::path& into) -> result<strings> {
            for (const std::string& name : names)
                if (auto done = write_file(into / name, [&](std::ofstream& f) { f << text; });
                    !done)
                    return done.failure();
            return names;
        });
    }
    strings names() const {
        strings all;
        for (const auto& entry : fs::directory_iterator{folder})
            all.push_back(entry.path().filename());
        std::ranges::sort(all);
        return all;
    }
    std::string text_of(const std::string& name) const {
        std::ifstream in{folder / name};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(folders_of_results, result_disk)

BOOST_AUTO_TEST_CASE(a_result_replaces_the_one_before_and_nobody_elses_files) {
    BOOST_TEST(write({"b", "a", "c"}, "old").value() == (strings{"b", "a", "c"}),
               boost::test_tools::per_element());
    BOOST_TEST(names() == (strings{"a", "b", "c", "result.json"}),
               boost::test_tools::per_element());
    std::ofstream{folder / "notes"} << "mine";
    BOOST_REQUIRE(write({"a"}, "new").ok());
    BOOST_TEST(names() == (strings{"a", "notes", "result.json"}), boost::test_tools::per_element());
    BOOST_TEST(text_of("a") == "new");
    BOOST_TEST(files_of_result(folder) == strings{"a"}, boost::test_tools::per_element());
}

// The limit on file sizes fails a write in the middle, as a full disk does.
BOOST_AUTO_TEST_CASE(a_result_that_cannot_be_written_leaves_the_one_before) {
    BOOST_REQUIRE(write({"a", "b"}, "old").ok());
    const auto refused = [&](const strings& files, const std::string& text, rlim_t bytes) {
        rlimit old{};
        getrlimit(RLIMIT_FSIZE, &old);
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit tight{bytes, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
        const auto written = write(files, text);
        setrlimit(RLIMIT_FSIZE, &old);
        std::signal(SIGXFSZ, handler);
        BOOST_REQUIRE(!written.ok());
        BOOST_TEST((written.failure().code() == errc::io));
        BOOST_TEST(names() == (strings{"a", "b", "result.json"}), boost::test_tools::per_element());
        BOOST_TEST(text_of("a") + text_of("b") == "oldold");
        return written.failure().message();
    };
    BOOST_TEST(refused({"a", "b"}, std::string(200000, 'x'), 1000) ==
               (folder / "a").string() + ": cannot be written: File too large");
    BOOST_TEST(refused({"a", "b"}, "x", 0).starts_with((folder / "a").string() + ": "));
    BOOST_TEST(refused({"a"}, "x", 10).starts_with((folder / "result.json").string() + ": "));
    BOOST_TEST(write({"a"}, "new").ok());
}

BOOST_AUTO_TEST_CASE(what_a_program_says_of_its_failure_is_passed_on) {
    const auto refused = write_into_place(folder, mark, [](const fs::path&) -> result<strings> {
        return error{errc::numeric, "write_result has thrown"};
    });
    BOOST_TEST(refused.failure().message() == "write_result has thrown");
    BOOST_TEST(names().empty());
}

BOOST_AUTO_TEST_CASE(what_a_killed_run_has_left_is_no_part_of_the_next_result) {
    fs::create_directories(folder / ".partial-result");
    std::ofstream{folder / ".partial-result/torn"} << "to";
    BOOST_REQUIRE(write({"a"}, "new").ok());
    BOOST_TEST(names() == (strings{"a", "result.json"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(folders_of_a_result_are_replaced_whole) {
    const auto write_below = [&](const std::string& name) {
        return write_into_place(folder, mark, [&](const fs::path& into) -> result<strings> {
            fs::create_directories(into / "parts");
            std::ofstream{into / "parts" / name} << "x";
            return strings{"parts/" + name};
        });
    };
    BOOST_REQUIRE(write_below("one").ok());
    BOOST_REQUIRE(write_below("two").ok());
    BOOST_TEST(names() == (strings{"parts", "result.json"}), boost::test_tools::per_element());
    BOOST_TEST(fs::exists(folder / "parts/two"));
    BOOST_TEST(!fs::exists(folder / "parts/one"));
}

// A mark may come from anywhere.
BOOST_AUTO_TEST_CASE(a_mark_makes_nobody_delete_what_is_elsewhere_or_no_file) {
    fs::create_directories(folder / "below");
    std::ofstream{own.path() / "a/outside"} << "mine";
    std::ofstream{folder / ".hidden"} << "mine";
    fs::create_symlink(own.path() / "a/outside", folder / "link");
    std::ofstream{folder / "result.json"}
        << R"({"program": "chain", "files": ["../outside", ".hidden", "below", "link", "", "..",)"
        << R"( 7, "result.json", "none", ")" << (own.path() / "a/outside").string() << "\"]}";
    BOOST_TEST(files_of_result(folder).empty());
    BOOST_REQUIRE(write({"a"}, "new").ok());
    BOOST_TEST(names() == (strings{".hidden", "a", "below", "link", "result.json"}),
               boost::test_tools::per_element());
    BOOST_TEST(fs::exists(own.path() / "a/outside"));
}

BOOST_AUTO_TEST_SUITE_END()
