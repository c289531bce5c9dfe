// The cities of a problem as the data of a run, a row for each city, and back.
//
// A piece has four tensors:
//
//     0  kind     int32, 1: edge_weights
//     1  points   float64, rows x 2: x and y; empty if the cities have none
//     2  lengths  int32, rows x cities: from each city to all; empty if lengths follow from the points
//     3  name     uint8: of the problem
//
// Threads: values; a source is one thread's at a time. Errors: errc::protocol for what is not such a piece.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/scheduled/data_pieces.hpp"
#include "apps/tsp/instance.hpp"

namespace troupe::tsp {

// A row for each city and a column for what is looked for: the tour. Pieces of about so many bytes, if that is at least a
// row.
// `file`: where the problem is from, as an app file names it; empty: from none. `notes`: as piece_source has them.
std::shared_ptr<scheduled::piece_source> pieces_of(instance of, std::uint64_t piece_bytes_max,
                                                   std::string file = {},
                                                   std::vector<std::string> notes = {});

// Opens what app files name as data.tsplib (instance_file.hpp).
result<std::shared_ptr<scheduled::piece_source>> open_cities(const std::string& file);

class city_builder {
  public:
    // `cities`: of the whole problem.
    explicit city_builder(std::uint64_t cities) : cities_{cities} {}

    // In the order of rows.
    result<void> append(const scheduled::payload& piece);
    // errc::protocol if cities are missing.
    result<instance> finish();

  private:
    std::uint64_t cities_;
    std::uint64_t taken_ = 0;
    edge_weights kind_ = edge_weights::euclidean;
    std::string name_;
    std::vector<point> points_;
    std::vector<std::int32_t> lengths_;
};

// All that the source has, which is at its first row.
result<instance> read_cities(scheduled::piece_source& from);

} // namespace troupe::tsp
