#include "transport/tcp/plain_stream.hpp"

namespace troupe {

result<std::size_t> plain_stream::write(std::span<const iovec> pieces) {
    return send_some(socket_.get(), pieces);
}

result<std::size_t> plain_stream::read(std::span<const iovec> places) {
    return receive_some(socket_.get(), places);
}

void plain_stream::shut_down() noexcept {
    shut_down_socket(socket_.get());
}

} // namespace troupe
