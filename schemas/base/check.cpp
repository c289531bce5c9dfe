#include "schemas/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace troupe {

void check_failed(const char* condition, const char* file, int line, const char* why) {
    std::fprintf(stderr, "troupe: internal error at %s:%d: %s (%s is false)\n", file, line, why,
                 condition);
    std::fflush(stderr);
    std::abort();
}

} // namespace troupe
