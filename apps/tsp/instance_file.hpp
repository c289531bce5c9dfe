// Reader of problems: TSPLIB 95 (.tsp and .atsp) and CSV of coordinates, plain or gzip.
//
// TSPLIB: TYPE TSP or ATSP; EDGE_WEIGHT_TYPE EUC_2D, CEIL_2D, MAX_2D, MAN_2D, ATT, GEO, or EXPLICIT with a full matrix or a
// triangle of it, by rows or columns, with the diagonal or without. A problem with an asymmetric matrix has to be an ATSP.
// The specification may stand behind the sections. Cities are numbered from 1, or, with a note, from 0.
//
// CSV: a line with two numbers for each city, x and y, which commas, semicolons or tabs separate; the first line may have
// the names of the columns. Lengths are those of EUC_2D.
//
// Refused, too, are cities of which tours say nothing (cities_verdict.hpp).
//
// Errors: errc::data "FILE: line N: SENTENCE"; errc::io where the file cannot be read. What a file claims is compared with
// tsp_limits.hpp, and with what the file can hold, before memory is taken. Threads: functions without state; they block on
// files. Source: Reinelt, TSPLIB 95.
#pragma once

#include "actors/data/files/line_reader.hpp"
#include "apps/tsp/instance.hpp"
#include "schemas/base/error.hpp"

namespace troupe::tsp {

struct cities_file {
    instance problem;
    std::vector<std::string> notes; // on what may not be intended, a sentence each
};

// Either format: a file whose first filled line is KEY: VALUE, begins with a keyword of TSPLIB, or is the name of a section,
// is TSPLIB's.
result<cities_file> read_cities_file(const std::string& path);

// Each reads one format, from a file that is open at its start, without a verdict.
result<cities_file> read_tsplib(line_reader& lines);
result<cities_file> read_coordinates(line_reader& lines);

} // namespace troupe::tsp
