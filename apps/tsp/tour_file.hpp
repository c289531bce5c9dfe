// Files of tours: TSPLIB's .tour, and a picture in SVG.
//
// Threads: functions without state; they block on files. Errors: errc::data "FILE: line N: SENTENCE"; errc::io where a file
// cannot be read or written. Source: Reinelt, TSPLIB 95.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "apps/tsp/instance.hpp"
#include "schemas/base/error.hpp"

namespace troupe::tsp {

// A tour of the cities of `of`.
result<std::vector<city>> read_tour(const std::string& path, const instance& of);

// Over what is there, which readers never find half written.
result<void> write_tour(const std::filesystem::path& path, const instance& of,
                        std::span<const city> tour);
// Draws an instance that has points; y grows upwards.
result<void> write_picture(const std::filesystem::path& path, const instance& of,
                           std::span<const city> tour);

} // namespace troupe::tsp
