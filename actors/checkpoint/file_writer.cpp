#include "actors/checkpoint/file_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/base/file_descriptor.hpp"

namespace troupe {

namespace {

constexpr std::size_t io_bytes_max = 1u << 30; // Linux moves at most 2 GiB per call

result<void> write_all(int descriptor, std::span<const std::byte> bytes, const output_file& file) {
    while (!bytes.empty()) {
        const ssize_t written =
            ::write(descriptor, bytes.data(), std::min(bytes.size(), io_bytes_max));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return file_error(file.shown, "written", errno, file.instead);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

// Advice on the error of a system call; empty: there is none that helps.
std::string_view advice_on(int error_number) {
    switch (error_number) {
    case ENOSPC:
    case EDQUOT:
        return "free some space";
    case EFBIG:
        return "raise the limit on the size of files (ulimit -f)";
    case EMFILE:
    case ENFILE:
        return "raise the limit on open files (ulimit -n)";
    case EROFS:
        return "make its file system writable";
    case EACCES:
    case EPERM:
        return "give the permission for it";
    case EIO:
        return "see what the system's log says of its disk";
    default:
        return {};
    }
}

result<void> sync_opened(const std::filesystem::path& name, int flags) {
    const file_descriptor handle{::open(name.c_str(), O_RDONLY | O_CLOEXEC | flags)};
    if (!handle || ::fsync(handle.get()) != 0)
        return file_error(name, "synced", errno);
    return {};
}

} // namespace

error file_error(const std::filesystem::path& file, std::string_view what, int error_number,
                 std::string_view instead) {
    std::string message = file.string() + ": cannot be ";
    message.append(what).append(": ").append(std::generic_category().message(error_number));
    const std::string_view advice = advice_on(error_number);
    if (!advice.empty())
        message.append("; ").append(advice);
    if (!advice.empty() && !instead.empty())
        message.append(" or choose ").append(instead);
    return {errc::io, std::move(message)};
}

struct sha256::state {
    crypto_hash_sha256_state hash;
};

sha256::sha256() : state_{std::make_unique<state>()} {
    crypto_hash_sha256_init(&state_->hash);
}
sha256::~sha256() = default;

void sha256::add(std::span<const std::byte> bytes) {
    crypto_hash_sha256_update(&state_->hash, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
}

std::string sha256::hex() {
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_final(&state_->hash, digest);
    char text[2 * sizeof digest + 1];
    return sodium_bin2hex(text, sizeof text, digest, sizeof digest);
}

result<written_file> write_file(const output_file& file,
                                std::span<const std::span<const std::byte>> pieces) {
    const file_descriptor out{
        ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
    if (!out)
        return file_error(file.shown, "made", errno, file.instead);
    written_file done;
    sha256 hash;
    for (const auto piece : pieces) {
        if (auto written = write_all(out.get(), piece, file); !written)
            return written.failure();
        hash.add(piece);
        done.bytes += piece.size();
    }
    // A full disk may be reported only here.
    if (::fsync(out.get()) != 0)
        return file_error(file.shown, "synced", errno, file.instead);
    done.sha256 = hash.hex();
    return done;
}

result<void> sync_file(const std::filesystem::path& file) {
    return sync_opened(file, O_NONBLOCK);
}

result<void> sync_folder(const std::filesystem::path& folder) {
    return sync_opened(folder, O_DIRECTORY);
}

result<std::vector<std::byte>> read_file(const std::filesystem::path& file,
                                         std::uint64_t bytes_max) {
    const file_descriptor in{::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    struct stat status {};
    if (!in || ::fstat(in.get(), &status) != 0)
        return file_error(file, "read", errno);
    if (!S_ISREG(status.st_mode))
        return error{errc::data, file.string() + ": not a file"};
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > bytes_max)
        return error{errc::data,
                     file.string() + ": larger than " + std::to_string(bytes_max) + " bytes"};
    std::vector<std::byte> bytes;
    try {
        bytes.resize(size);
    } catch (const std::bad_alloc&) {
        return error{errc::exhausted,
                     file.string() + ": no memory for " + std::to_string(size) + " bytes"};
    }
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t got =
            ::read(in.get(), bytes.data() + done, std::min(bytes.size() - done, io_bytes_max));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_error(file, "read", errno);
        if (got == 0)
            return error{errc::data, file.string() + ": became shorter while it was read"};
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

} // namespace troupe
