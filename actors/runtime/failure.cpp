#include "actors/runtime/failure.hpp"

namespace troupe {

void write_failure(proto::Failure::Builder to, const error& why) {
    to.setCode(static_cast<std::uint8_t>(why.code()));
    to.setReason(why.message());
}

error read_failure(proto::Failure::Reader from) {
    const auto code = from.getCode() <= static_cast<std::uint8_t>(errc::numeric)
                          ? static_cast<errc>(from.getCode())
                          : errc::protocol;
    return {code, from.getReason()};
}

} // namespace troupe
