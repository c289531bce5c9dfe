#include "actors/scheduled/payload.hpp"

namespace troupe::scheduled {

result<void> check_tensor(const payload& p, std::size_t at, data_type type, std::string_view what) {
    if (at >= p.size())
        return error{errc::protocol, std::string{what} + ": missing"};
    if (p[at].type() != type)
        return error{errc::protocol, std::string{what} + ": " +
                                         std::string{to_string(p[at].type())} + " instead of " +
                                         std::string{to_string(type)}};
    return {};
}

} // namespace troupe::scheduled
