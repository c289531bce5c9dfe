// Assertions that stay on in release builds.
//
// Use TROUPE_CHECK for what can only be false through a bug in Troupe. What comes from outside (files, the
// network, the command line) is answered with an `error` instead; see error.hpp.
#pragma once

namespace troupe {

// Prints the failed condition with its place to standard error and aborts. Any thread.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* why);

} // namespace troupe

// TROUPE_CHECK(condition, "why this must hold here")
#define TROUPE_CHECK(condition, why)                                                               \
    do {                                                                                           \
        if (!(condition)) [[unlikely]]                                                             \
            ::troupe::check_failed(#condition, __FILE__, __LINE__, why);                           \
    } while (false)
