// The program "tsp": short tours through cities by colonies of ants, one for each worker.
//
//     const scheduled::program_table programs{tsp::tsp_program()};
//
// Sources: as colony.hpp and the headers of its kinds say; several colonies: Middendorf, Reischle, Schmeck, Multi colony ant
// algorithms (2002).
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::tsp {

scheduled::program tsp_program();

} // namespace troupe::tsp
