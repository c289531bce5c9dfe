#include "transport/handshake/key_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/base/file_descriptor.hpp"
#include "schemas/base/limits.hpp"

namespace troupe {

namespace {

result<std::string> read_key(int file, const std::string& path) {
    struct stat status {};
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return error{errc::usage, "key file " + path + " is not a regular file"};
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return error{errc::usage,
                     "key file " + path + " can be read by others; run: chmod 600 " + path};
    std::string key(limits::key_bytes_max + 2, '\0');
    std::size_t size = 0;
    for (ssize_t got = 1; got != 0 && size < key.size(); size += static_cast<std::size_t>(got)) {
        got = ::read(file, key.data() + size, key.size() - size);
        if (got < 0)
            return error{errc::io, "cannot read key file " + path + ": " + std::strerror(errno)};
    }
    key.resize(size);
    if (key.ends_with('\n'))
        key.pop_back();
    if (key.ends_with('\r'))
        key.pop_back();
    if (key.size() < limits::key_bytes_min || key.size() > limits::key_bytes_max)
        return error{errc::usage, "key file " + path + " must hold " +
                                      std::to_string(limits::key_bytes_min) + " to " +
                                      std::to_string(limits::key_bytes_max) +
                                      " bytes; make one with: openssl rand -hex 32 > " + path};
    return key;
}

} // namespace

result<std::string> read_key_file(const std::string& path) {
    const file_descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!file)
        return error{errc::usage, "cannot open key file " + path + ": " + std::strerror(errno)};
    return read_key(file.get(), path);
}

} // namespace troupe
