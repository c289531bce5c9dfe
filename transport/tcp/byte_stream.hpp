// A proven connection as a stream of bytes, in clear (plain_stream.hpp) or sealed (sealed_stream.hpp).
//
// Threads: one at a time writes, one at a time reads, at the same time. No method waits. Ownership: of the socket. Errors:
// errc::lost if the connection has ended, errc::protocol for bytes that the other side has not sealed. After an error it is
// of no further use.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "schemas/base/error.hpp"

namespace troupe {

class byte_stream {
  public:
    virtual ~byte_stream() = default;

    // Takes bytes of the pieces, in order, and returns how many: fewer than all if the socket takes no more now.
    virtual result<std::size_t> write(std::span<const iovec> pieces) = 0;
    // True if bytes that have been taken have not left: write() again, even nothing, once the socket is writable.
    virtual bool holds_bytes() const noexcept { return false; }

    // Fills the places, in order, and returns the number of bytes: 0 if none have arrived.
    virtual result<std::size_t> read(std::span<const iovec> places) = 0;
    // The room that read() needs in all of its places to get anywhere.
    virtual std::size_t read_bytes_min() const noexcept { return 1; }

    virtual int descriptor() const noexcept = 0;
    // Ends both directions at once. Any thread.
    virtual void shut_down() noexcept = 0;
};

} // namespace troupe
