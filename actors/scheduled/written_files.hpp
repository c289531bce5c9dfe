// Files that programs write as results: NumPy's arrays, fields of CSV.
//
// Threads: functions without state; write_file blocks on files. Errors: errc::io with the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>

#include "schemas/base/error.hpp"

namespace troupe::scheduled {

// Writes over what is there. `write` may be called once, and may fail by the stream alone.
result<void> write_file(const std::filesystem::path& path,
                        const std::function<void(std::ofstream&)>& write);

// The header of NumPy's .npy format, version 1.0, of numbers in C order. `type` as in Python: "<f8"; `shape` has one number
// or more.
// Source: NumPy's documentation, numpy.lib.format.
std::string npy_header_of(const std::string& type, std::span<const std::uint64_t> shape);

// The bytes of numbers as they lie in memory.
template <class Number>
std::span<const char> bytes_of(std::span<const Number> numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}
void write_bytes(std::ofstream& file, std::span<const char> bytes);

// A field of a CSV file, in quotes if it has to be.
std::string field_of(const std::string& text);
// The field of a row or column: its name, or its number if there are no names.
std::string name_or_number(std::span<const std::string> names, std::uint64_t number);

// The shortest text that reads as this number.
std::string text_of(double number);
std::string text_of(float number);

} // namespace troupe::scheduled
