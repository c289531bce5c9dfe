// Work that has to be done before the constructors of libraries, some of which print and read the environment:
//
// - Standard output belongs to the program's results alone. What is written to descriptor 1 (by UCX with UCX_LOG_LEVEL, by
//   oneDNN with ONEDNN_VERBOSE) goes to standard error, and results go to a descriptor of their own.
// - Standard streams that were closed read and write nothing: else a file or socket would take their place.
// - Settings of UCX that change how bytes travel are removed from the environment. UCX reads about 500, and some values keep
//   nodes from connecting, make links lose frames, or end the process (of UCX 1.13: RNDV_THRESH, SYSV_SEG_SIZE, TCP_RCVBUF,
//   MEM_MMAP_HOOK_MODE, among others). Kept are those of devices, of RDMA, of the level of its log and of what it does after
//   errors.
//
// It happens by itself in every program that has this file.
#pragma once

#include <string>

namespace troupe::cli {

// The descriptor of the process's standard output, for questions about it (isatty, poll); write to std::cout.
int standard_output() noexcept;

// A note for people that names the settings of UCX which were removed; else empty.
std::string note_of_settings();

} // namespace troupe::cli
