#define BOOST_TEST_MODULE troupe
#include <boost/test/unit_test.hpp>

#include "tests/support/seeds.hpp"

namespace {

// Arguments that no seeded case understands end the program, whichever cases run.
struct understands_arguments {
    void setup() { troupe::test::seeds_of_command_line(); }
};

} // namespace

BOOST_TEST_GLOBAL_FIXTURE(understands_arguments);
