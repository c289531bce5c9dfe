// A connection whose bytes travel as they are: within a machine, and where the user asks for it.
#pragma once

#include "transport/tcp/byte_stream.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe {

class plain_stream final : public byte_stream {
  public:
    explicit plain_stream(file_descriptor socket) : socket_{std::move(socket)} {}

    result<std::size_t> write(std::span<const iovec> pieces) override;
    result<std::size_t> read(std::span<const iovec> places) override;
    int descriptor() const noexcept override { return socket_.get(); }
    void shut_down() noexcept override;

  private:
    file_descriptor socket_;
};

} // namespace troupe
