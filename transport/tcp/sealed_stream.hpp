// A connection whose bytes are sealed in records (record_cipher.hpp): nobody between the two nodes reads or changes them.
#pragma once

#include <memory>
#include <vector>

#include "schemas/base/time_source.hpp"
#include "transport/tcp/byte_stream.hpp"
#include "transport/tcp/record_cipher.hpp"
#include "transport/tcp/socket.hpp"

namespace troupe {

class sealed_stream final : public byte_stream {
  public:
    struct keys {
        ~keys(); // wipes them

        secret_key sending;
        secret_key receiving;
    };
    // When a sender takes the next key.
    struct key_lifetime {
        std::uint64_t records = 1ull << 30;
        duration time = std::chrono::hours{1};
    };

    // Keeps a reference to the time.
    sealed_stream(file_descriptor socket, const keys& k, const time_source& time,
                  const key_lifetime& lifetime);

    result<std::size_t> write(std::span<const iovec> pieces) override;
    bool holds_bytes() const noexcept override { return sealed_begin_ < sealed_end_; }
    result<std::size_t> read(std::span<const iovec> places) override;
    std::size_t read_bytes_min() const noexcept override { return record_text_max; }
    int descriptor() const noexcept override { return socket_.get(); }
    void shut_down() noexcept override { shut_down_socket(socket_.get()); }

  private:
    void seal(std::span<const iovec> text);
    bool key_is_due();
    result<bool> send_sealed(); // true if all has left
    result<bool> receive_record();
    // The next whole record of those received; empty if there is none.
    result<std::span<const std::byte>> next_record() const;

    file_descriptor socket_;
    const time_source& time_;
    const key_lifetime lifetime_;

    // The sending half.
    record_cipher sealing_;
    time_point key_began_;
    std::unique_ptr<std::byte[]>
        sealed_; // records, of which those from sealed_begin_ to sealed_end_ have not left
    std::size_t sealed_begin_ = 0;
    std::size_t sealed_end_ = 0;
    std::vector<iovec> text_;

    // The receiving half.
    record_cipher opening_;
    std::vector<std::byte>
        received_; // its bytes from received_begin_ to received_end_ have not been opened
    std::size_t received_begin_ = 0;
    std::size_t received_end_ = 0;
    std::vector<iovec> opened_;
};

} // namespace troupe
