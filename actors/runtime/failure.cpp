#include "actors/runtime/failure.hpp"

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

void write_failure(proto::Failure::Builder to, const error& why) {
    to.setCode(static_cast<std::uint8_t>(why.code()));
    to.setReason(printable(why.message(), limits::reason_bytes_max));
}

std::string read_reason(capnp::Text::Reader from) {
    return printable({from.begin(), from.size()}, limits::reason_bytes_max);
}

error read_failure(proto::Failure::Reader from) {
    const auto code = from.getCode() <= static_cast<std::uint8_t>(errc::numeric)
                          ? static_cast<errc>(from.getCode())
                          : errc::protocol;
    return {code, read_reason(from.getReason())};
}

error read_failure(proto::Rejected::Reader from) {
    return {errc::protocol, read_reason(from.getReason())};
}

} // namespace troupe
