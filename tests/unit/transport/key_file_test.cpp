#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "schemas/base/limits.hpp"
#include "tests/support/temporary_folder.hpp"
#include "transport/handshake/key_file.hpp"

using namespace troupe;

namespace {

const std::string key_a = "0123456789abcdef", key_b = "fedcba9876543210",
                  key_c = "0f1e2d3c4b5a6978";

struct key_files {
    result<cluster_keys> read(const std::string& contents, mode_t mode = 0600) const {
        std::ofstream{path} << contents;
        chmod(path.c_str(), mode);
        return read_key_file(path);
    }
    // The sentence without its beginning, "key file PATH"; empty if the file is taken.
    std::string refusal(const std::string& contents, mode_t mode = 0600) const {
        const auto keys = read(contents, mode);
        if (keys)
            return "";
        BOOST_TEST((keys.failure().code() == errc::usage));
        BOOST_TEST(keys.failure().message().starts_with("key file " + path));
        for (const std::string& key : {key_a, key_b, key_c}) // none is shown to whoever looks on
            BOOST_TEST(keys.failure().message().find(key) == std::string::npos);
        return keys.failure().message().substr(std::string{"key file " + path}.size());
    }

    test::temporary_folder folder;
    std::string path = folder.path() / "key";
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(key_file, key_files)

BOOST_AUTO_TEST_CASE(one_key_is_for_everybody) {
    const auto lone = [&](const std::string& contents) {
        const auto keys = read(contents);
        BOOST_TEST_REQUIRE(keys.ok(), contents);
        BOOST_TEST_REQUIRE(keys->all().size() == 1u);
        BOOST_TEST(!keys->all()[0].role.has_value());
        for (const peer_role role : {peer_role::member, peer_role::client, peer_role::observer})
            BOOST_TEST(keys->offered_by(role) == &keys->all()[0]);
        return keys->all()[0].secret;
    };
    for (const std::string& key :
         {key_a, std::string{"a key for the tests"}, std::string{"all your base are belong to us"},
          std::string{"two lines of base64\nare one key as well"}, std::string{"16 bytes, spaces "},
          std::string{"runner-0123456789abcdef"}, std::string(limits::key_bytes_max, 'k')})
        for (const char* const end : {"", "\n", "\r\n"})
            BOOST_TEST(lone(key + end) == key);
}

BOOST_AUTO_TEST_CASE(keys_for_roles_are_offered_and_accepted_in_their_order) {
    const auto keys =
        read("run " + key_a + "\n\nobserve\t" + key_b + " \r\n  run " + key_c).value();
    BOOST_TEST((keys.all() == std::vector<cluster_key>{{key_a, peer_role::client},
                                                       {key_b, peer_role::observer},
                                                       {key_c, peer_role::client}}));
    BOOST_TEST(keys.offered_by(peer_role::client) == &keys.all()[0]);
    BOOST_TEST(keys.offered_by(peer_role::observer) == &keys.all()[1]);
    BOOST_TEST(keys.offered_by(peer_role::member) == nullptr);
    BOOST_TEST(read("observe " + key_a).value().offered_by(peer_role::client) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_file_that_others_may_read_or_that_is_none_is_refused) {
    for (const mode_t mode : {0640, 0604, 0620, 0602, 0610})
        BOOST_TEST(refusal(key_a, mode) == " can be read by others; run: chmod 600 " + path);
    BOOST_TEST((read_key_file(folder.path().string()).failure().code() == errc::usage));
    BOOST_TEST((read_key_file(path + "?").failure().code() == errc::usage));
}

BOOST_AUTO_TEST_CASE(a_key_of_a_wrong_size_is_refused) {
    const std::string wanted = " must hold a key of 16 to 4096 bytes; make one with: openssl rand "
                               "-hex 32 > " +
                               path;
    for (const std::string& contents :
         {std::string{}, std::string{"\n"}, std::string{" \n \n"}, key_a.substr(1) + "\n",
          std::string(limits::key_bytes_max + 1, 'k'), std::string(1u << 20, 'k'),
          std::string{"run"}})
        BOOST_TEST(refusal(contents) == wanted);
}

BOOST_AUTO_TEST_CASE(a_line_that_is_no_key_is_refused_with_its_number) {
    const std::string wanted = ": after the role comes a key of 16 to 4096 bytes without spaces; "
                               "make one with: openssl rand -hex 32";
    BOOST_TEST(refusal("run " + key_a + "\nobserve\n") == ", line 2" + wanted);
    BOOST_TEST(refusal("run " + key_a.substr(1) + "\n") == ", line 1" + wanted);
    BOOST_TEST(refusal("run " + key_a + " " + key_b + "\n") == ", line 1" + wanted);
    BOOST_TEST(refusal("\nmember " + std::string(limits::key_bytes_max + 1, 'k') + "\n") ==
               ", line 2" + wanted);
}

BOOST_AUTO_TEST_CASE(a_role_that_is_none_is_refused_and_never_a_key_for_everybody) {
    const std::string wanted = ": begins with none of the roles member, run and observe";
    for (const char* const role : {"observer", "Member", "client", "runs", "all"}) {
        const std::string line = role + (" " + key_a) + "\n";
        BOOST_TEST(refusal(line) == ", line 1" + wanted);
        BOOST_TEST(refusal("run " + key_b + "\n" + line) == ", line 2" + wanted);
        BOOST_TEST(refusal(line + "run " + key_b + "\n") == ", line 1" + wanted);
        BOOST_TEST(refusal(line + "boss " + key_b + "\n") == ", line 1" + wanted);
    }
    BOOST_TEST(refusal("member " + key_a + "\n" + key_b + "\n") == ", line 2" + wanted);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_there_twice_or_one_too_many_is_refused) {
    const std::string twice =
        ", line 2: holds a key that is in the file before; give each line its "
        "own";
    BOOST_TEST(refusal("run " + key_a + "\nobserve " + key_a + "\n") == twice);
    BOOST_TEST(refusal("run " + key_a + "\nrun " + key_a + "\n") == twice);
    std::string many;
    for (std::size_t i = 0; i < cluster_keys::number_max; ++i)
        many += "run " + key_a + std::to_string(i) + "\n";
    BOOST_TEST(read(many).value().all().size() == 16u);
    BOOST_TEST(refusal(many + "run " + key_b) ==
               ", line 17: is one too many; a file has 16 keys at most");
}

BOOST_AUTO_TEST_SUITE_END()
