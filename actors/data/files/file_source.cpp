#include "actors/data/files/file_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <zlib.h>

#include "schemas/base/check.hpp"
#include "schemas/base/file_descriptor.hpp"

namespace troupe {

namespace {

// Bound of the deflate format: no byte can expand to more.
constexpr std::uint64_t deflate_ratio_max = 1032;
constexpr std::size_t packed_bytes = 1u << 17; // that are read at a time
constexpr std::array<std::uint8_t, 2> gzip_magic{0x1f, 0x8b};

result<std::size_t> read_from(const file_descriptor& file, std::span<std::uint8_t> into) {
    for (;;) {
        const ssize_t got =
            ::read(file.get(), into.data(), std::min<std::size_t>(into.size(), 1u << 30));
        if (got >= 0)
            return static_cast<std::size_t>(got);
        if (errno != EINTR)
            return error{errc::io, std::string{"cannot be read: "} + std::strerror(errno)};
    }
}

class plain_source final : public byte_source {
  public:
    plain_source(file_descriptor file, std::uint64_t stored_bytes)
        : file_{std::move(file)}, stored_bytes_{stored_bytes} {}

    result<std::size_t> read(std::span<std::uint8_t> into) override {
        return read_from(file_, into);
    }
    bool can_hold(std::uint64_t offset, std::uint64_t bytes) const noexcept override {
        return bytes <= stored_bytes_ - std::min(offset, stored_bytes_);
    }

  private:
    file_descriptor file_;
    std::uint64_t stored_bytes_;
};

class gzip_source final : public byte_source {
  public:
    gzip_source(file_descriptor file, std::uint64_t stored_bytes)
        : file_{std::move(file)}, stored_bytes_{stored_bytes}, packed_(packed_bytes) {}
    // False: zlib has no memory to begin.
    bool begin() {
        constexpr int gzip_alone = 15 + 16;
        return inflateInit2(&inflate_, gzip_alone) == Z_OK;
    }
    gzip_source(const gzip_source&) = delete;
    gzip_source& operator=(const gzip_source&) = delete;
    ~gzip_source() override { inflateEnd(&inflate_); }

    result<std::size_t> read(std::span<std::uint8_t> into) override {
        const auto most = static_cast<unsigned>(
            std::min<std::size_t>(into.size(), std::numeric_limits<int>::max()));
        if (into.empty())
            return std::size_t{0};
        inflate_.next_out = into.data();
        inflate_.avail_out = most;
        while (inflate_.avail_out == most) {
            const auto more = refill();
            if (!more)
                return more.failure();
            if (!*more)
                return is_whole_ ? result<std::size_t>{std::size_t{0}}
                                 : error{errc::data, "truncated gzip data; fetch the file again"};
            if (auto begun = begin_member(); !begun)
                return begun.failure();
            if (is_whole_) // zeros alone
                continue;
            const int code = ::inflate(&inflate_, Z_NO_FLUSH);
            is_whole_ = code == Z_STREAM_END;
            if (code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END)
                return error{errc::data, "damaged gzip data; fetch the file again"};
        }
        return std::size_t{most - inflate_.avail_out};
    }

    bool can_hold(std::uint64_t, std::uint64_t bytes) const noexcept override {
        return bytes / deflate_ratio_max <= stored_bytes_;
    }

  private:
    // False at the end of the file.
    result<bool> refill() {
        if (inflate_.avail_in > 0)
            return true;
        const auto got = read_from(file_, packed_);
        if (!got)
            return got.failure();
        inflate_.next_in = packed_.data();
        inflate_.avail_in = static_cast<unsigned>(*got);
        return *got > 0;
    }

    // Between members: begins the next one, or passes over zeros.
    result<void> begin_member() {
        if (!is_whole_)
            return {};
        while (inflate_.avail_in > 0 && *inflate_.next_in == 0) {
            has_zeros_ = true;
            ++inflate_.next_in;
            --inflate_.avail_in;
        }
        if (inflate_.avail_in == 0)
            return {};
        if (has_zeros_ || *inflate_.next_in != gzip_magic[0])
            return error{errc::data, "what follows is behind the packed data, and not packed; "
                                     "pack the whole file anew"};
        is_whole_ = false;
        inflateReset(&inflate_);
        return {};
    }

    file_descriptor file_;
    std::uint64_t stored_bytes_;
    std::vector<std::uint8_t> packed_;
    z_stream inflate_{};
    bool is_whole_ = false; // the last member has ended
    bool has_zeros_ = false;
};

} // namespace

result<std::unique_ptr<byte_source>> open_file_source(const std::filesystem::path& path,
                                                      std::uint64_t stored_bytes) {
    file_descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file)
        return error{errc::io, "cannot be opened; check its permissions"};
    std::array<std::uint8_t, 2> magic{};
    const auto got = read_from(file, magic);
    if (!got)
        return got.failure();
    ::lseek(file.get(), 0, SEEK_SET);
    if (*got == magic.size() && magic == gzip_magic) {
        auto packed = std::make_unique<gzip_source>(std::move(file), stored_bytes);
        if (!packed->begin())
            return error{errc::exhausted, "no memory to unpack it"};
        return std::unique_ptr<byte_source>{std::move(packed)};
    }
    return std::unique_ptr<byte_source>{
        std::make_unique<plain_source>(std::move(file), stored_bytes)};
}

} // namespace troupe
