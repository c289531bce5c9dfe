// The cells of a record of CSV. Pure.
//
// Source: RFC 4180, with blanks around cells, and semicolons or tabs for commas: a cell that begins with a quotation mark
// goes on to the next one, whatever separators and line ends are between them, and two of them stand for one. Marks within
// a cell that does not begin with one are text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troupe {

// A tab that is in the line, else a semicolon, else a comma; those in quotation marks do not count.
char separator_of(std::string_view line) noexcept;

// Where the cell that begins at `first` ends: at its separator, or at the end of the record.
std::size_t end_of_cell(std::string_view record, std::size_t first, char separator) noexcept;

// Whether the last cell's quotation mark has no end, so that the record goes on in the next line.
bool is_open(std::string_view record, char separator) noexcept;

// Without blanks around it, and without quotation marks around it.
std::string_view unquoted(std::string_view cell) noexcept;

// All of them, unquoted.
std::vector<std::string_view> cells_of(std::string_view record, char separator);

} // namespace troupe
