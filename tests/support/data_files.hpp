// Data files of a test's own (made_files.hpp), and what is said of them.
#pragma once

#include <boost/test/unit_test.hpp>

#include <string>

#include "schemas/base/error.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::test {

// What a failed result says.
template <class T>
std::string refusal_of(const result<T>& r, errc code = errc::data) {
    BOOST_REQUIRE(!r.ok());
    BOOST_TEST((r.failure().code() == code));
    return r.failure().message();
}

} // namespace troupe::test
