#include "actors/scheduled/written_files.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

namespace troupe::scheduled {

namespace {

template <class Number>
std::string shortest(Number number) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

} // namespace

result<void> write_file(const std::filesystem::path& path,
                        const std::function<void(std::ofstream&)>& write) {
    errno = 0;
    std::ofstream file{path, std::ios::binary | std::ios::trunc};
    write(file);
    file.close();
    if (file)
        return {};
    return error{errc::io, path.string() + ": cannot be written: " + std::strerror(errno)};
}

std::string npy_header_of(const std::string& type, std::span<const std::uint64_t> shape) {
    std::string description = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (";
    for (std::size_t i = 0; i < shape.size(); ++i)
        description += (i == 0 ? "" : " ") + std::to_string(shape[i]) +
                       (i + 1 < shape.size() || shape.size() == 1 ? "," : "");
    description += "), }";
    constexpr std::size_t preamble = 10, alignment = 64;
    while ((preamble + description.size() + 1) % alignment != 0)
        description += ' ';
    description += '\n';
    const auto length = static_cast<std::uint16_t>(description.size());
    std::string header = "\x93NUMPY\x01";
    header += '\0';
    header += static_cast<char>(length & 0xff);
    header += static_cast<char>(length >> 8);
    return header + description;
}

void write_bytes(std::ofstream& file, std::span<const char> bytes) {
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string field_of(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
}

std::string name_or_number(std::span<const std::string> names, std::uint64_t number) {
    return number < names.size() ? field_of(names[number]) : std::to_string(number);
}

std::string text_of(double number) {
    return shortest(number);
}

std::string text_of(float number) {
    return shortest(number);
}

} // namespace troupe::scheduled
