#include "schemas/base/error.hpp"

namespace troupe {

std::string_view to_string(errc code) noexcept {
    switch (code) {
    case errc::usage:
        return "usage";
    case errc::data:
        return "data";
    case errc::io:
        return "io";
    case errc::unreachable:
        return "unreachable";
    case errc::refused:
        return "refused";
    case errc::lost:
        return "lost";
    case errc::protocol:
        return "protocol";
    case errc::exhausted:
        return "exhausted";
    case errc::cancelled:
        return "cancelled";
    case errc::numeric:
        return "numeric";
    }
    return "unknown";
}

error error::in(std::string_view where) const {
    return {code_, std::string{where} + ": " + message_};
}

} // namespace troupe
