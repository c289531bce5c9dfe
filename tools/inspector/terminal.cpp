#include "tools/inspector/terminal.hpp"

#include <sys/ioctl.h>

#include <algorithm>

namespace troupe::inspector {

namespace {

// The first `count` characters of a line of UTF-8.
std::string_view first_characters(std::string_view line, std::size_t count) {
    for (std::size_t i = 0; i < line.size(); ++i) {
        const bool begins = (static_cast<unsigned char>(line[i]) & 0xc0u) != 0x80u;
        if (begins && count-- == 0)
            return line.substr(0, i);
    }
    return line;
}

} // namespace

screen_size screen_of(int descriptor) {
    screen_size size;
    winsize told{};
    if (ioctl(descriptor, TIOCGWINSZ, &told) != 0)
        return size;
    if (told.ws_row > 0)
        size.rows = told.ws_row;
    if (told.ws_col > 0)
        size.columns = told.ws_col;
    return size;
}

std::string cut_to(const screen_size& to, std::string_view text) {
    std::string fits;
    for (std::size_t row = 0; row < to.rows && !text.empty(); ++row) {
        const std::string_view line = text.substr(0, text.find('\n'));
        fits += row == 0 ? "" : "\n";
        fits += first_characters(line, to.columns);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return fits;
}

} // namespace troupe::inspector
