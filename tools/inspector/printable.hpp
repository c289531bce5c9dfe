// Text for a terminal: names are made harmless, numbers get units, rows become a table.
//
// Pure.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/printable.hpp"

namespace troupe::inspector {

using troupe::printable;

// The printable form of the name of an actor, a node or a type.
inline std::string printable(std::string_view name) {
    return printable(name, 64);
}

std::string duration_text(std::int64_t ns);  // "12.3 us"; three digits
std::string bytes_text(std::uint64_t bytes); // "401 kB"; three digits
std::string rate_text(double per_second);    // "12300/s"
std::string percent_text(double share);      // "12 %"
std::string hex_text(std::uint64_t id);      // "0x1f3a"
std::string count_text(std::uint64_t n, std::string_view one,
                       std::string_view many); // "1 node", "2 nodes"

// Rows of cells, printed under a heading with the columns as wide as their widest cell.
class table {
  public:
    enum class align : std::uint8_t { left, right };
    struct column {
        std::string heading;
        align side = align::left;
    };

    explicit table(std::vector<column> columns) : columns_{std::move(columns)} {}

    void add(std::vector<std::string> cells); // as many as there are columns
    void print(std::ostream& out) const;

  private:
    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace troupe::inspector
