// std::cout on the descriptor of the program's results (process_start.hpp).
//
// Threads: the first thread, before there are others. Errors: those of writing are states of std::cout.
#pragma once

namespace troupe::cli {

// Makes std::cout write there. To be called once, at the beginning of main().
void own_standard_output();

// Gives descriptor 1 back to what is executed in this process's place.
void give_back_standard_output();

} // namespace troupe::cli
