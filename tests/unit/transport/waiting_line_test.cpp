#include "transport/node/waiting_line.hpp"

#include <fcntl.h>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace troupe;

namespace {

class line_of {
  public:
    explicit line_of(std::size_t places) : line_{places} {}

    // A newcomer whose network is the first letter of its name.
    void add(const std::string& name) {
        file_descriptor socket{open("/dev/null", O_RDONLY | O_CLOEXEC)};
        names_.emplace_back(socket.get(), name);
        line_.add({std::move(socket), name.substr(0, 1)});
    }
    // The names of those who leave, while there is room for these networks, once for each letter.
    std::string leave(std::string room) {
        std::string left;
        line_.leave(
            [&](const std::string& network) {
                const std::size_t found = room.find(network);
                if (found != room.npos)
                    room.erase(found, 1);
                return found != room.npos;
            },
            [&](newcomer n) { left += (left.empty() ? "" : " ") + name_of(n.socket.get()); });
        return left;
    }
    bool is_empty() const { return line_.is_empty(); }

  private:
    std::string name_of(int descriptor) const {
        std::string found; // a number is given again once it is free
        for (const auto& [number, name] : names_)
            if (number == descriptor)
                found = name;
        return found;
    }

    waiting_line line_;
    std::vector<std::pair<int, std::string>> names_;
};

} // namespace

BOOST_AUTO_TEST_SUITE(waiting_lines)

BOOST_AUTO_TEST_CASE(newcomers_leave_in_their_order_and_go_by_those_of_a_full_network) {
    line_of line{8};
    for (const char* name : {"a1", "b1", "a2", "b2", "c1"})
        line.add(name);
    BOOST_TEST(line.leave("bc") == "b1 c1");
    BOOST_TEST(line.leave("aab") == "a1 a2 b2");
    BOOST_TEST(line.is_empty());
}

BOOST_AUTO_TEST_CASE(of_networks_with_as_many_the_last_newcomer_goes) {
    line_of line{2};
    for (const char* name : {"b1", "a1", "c1"})
        line.add(name);
    BOOST_TEST(line.leave("abc") == "b1 a1");
}

BOOST_AUTO_TEST_CASE(of_one_too_many_the_last_of_the_largest_network_goes) {
    line_of line{3};
    for (const char* name : {"a1", "b1", "a2", "a3", "c1"}) // a3 for itself, a2 for c1
        line.add(name);
    BOOST_TEST(line.leave("aaabbbccc") == "a1 b1 c1");
    BOOST_TEST(line.is_empty());
}

BOOST_AUTO_TEST_SUITE_END()
