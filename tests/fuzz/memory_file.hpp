// A file in memory, for readers that open their files by name.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <string>

#include "schemas/base/check.hpp"

namespace troupe::fuzz {

class memory_file {
  public:
    memory_file() : file_{memfd_create("input", MFD_CLOEXEC)} {
        TROUPE_CHECK(file_ >= 0 && fchmod(file_, 0600) == 0, "memory is there for a file");
    }
    ~memory_file() { close(file_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;

    // These bytes and no others; its name.
    std::string with(std::span<const std::byte> bytes) {
        const auto size = static_cast<ssize_t>(bytes.size());
        TROUPE_CHECK(ftruncate(file_, 0) == 0 &&
                         pwrite(file_, bytes.data(), bytes.size(), 0) == size,
                     "memory is there for an input");
        return "/proc/self/fd/" + std::to_string(file_);
    }

  private:
    int file_;
};

} // namespace troupe::fuzz
