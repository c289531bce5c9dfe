#include "tools/troupe/standard_output.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <streambuf>

#include "tools/troupe/process_start.hpp"

namespace troupe::cli {

namespace {

// Writes to a descriptor.
class descriptor_buffer final : public std::streambuf {
  public:
    explicit descriptor_buffer(int to) : to_{to} {
        setp(room_.data(), room_.data() + room_.size());
    }

  private:
    int_type overflow(int_type next) override {
        if (sync() != 0)
            return traits_type::eof();
        if (!traits_type::eq_int_type(next, traits_type::eof()))
            sputc(traits_type::to_char_type(next));
        return traits_type::not_eof(next);
    }

    int sync() override {
        const char* from = pbase();
        while (from < pptr()) {
            const ssize_t written = write(to_, from, static_cast<std::size_t>(pptr() - from));
            if (written < 0 && errno == EINTR)
                continue;
            if (written <= 0)
                break;
            from += written;
        }
        const bool is_all = from == pptr();
        setp(room_.data(), room_.data() + room_.size()); // what could not be written is lost
        return is_all ? 0 : -1;
    }

    const int to_;
    std::array<char, 4096> room_;
};

} // namespace

void own_standard_output() {
    static auto* const buffer =
        new descriptor_buffer{standard_output()}; // std::cout is used until the end
    std::cout.rdbuf(buffer);
}

void give_back_standard_output() {
    std::cout.flush();
    dup2(standard_output(), STDOUT_FILENO);
}

} // namespace troupe::cli
