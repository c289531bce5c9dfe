// What another process prints, for what must be the same in every process.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <string>

namespace troupe::test {

// The first line that `command` prints, with its end.
inline std::string line_of(const std::string& command) {
    std::FILE* output = popen(command.c_str(), "r");
    BOOST_REQUIRE(output != nullptr);
    char line[32] = {};
    const bool read = std::fgets(line, sizeof line, output) != nullptr;
    BOOST_TEST(pclose(output) == 0);
    BOOST_TEST(read);
    return line;
}

} // namespace troupe::test
