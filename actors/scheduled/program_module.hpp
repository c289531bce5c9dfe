// A program in a module of its own, which `troupe --program FILE` loads: what the module exports.
//
//     program ridge_program() { return {.name = "ridge", ...}; }
//     TROUPE_PROGRAM(ridge_program)
//
// `tools/program FOLDER` compiles a folder's sources and schemas into such a module for the build of troupe that stands
// beside it. Classes cross the border between the two, so that another build refuses the module
// (tools/troupe/program_modules.hpp).
#pragma once

#include "actors/scheduled/program.hpp"

extern "C" {
using troupe_program_build_function = const char*();
using troupe_program_function = void(troupe::scheduled::program&);
}

namespace troupe::scheduled {

inline constexpr const char* program_build_symbol = "troupe_program_build";
inline constexpr const char* program_symbol = "troupe_program";

} // namespace troupe::scheduled

// TROUPE_BUILD, the build of troupe that the module is for, is given by tools/program.
#define TROUPE_PROGRAM(make)                                                                       \
    extern "C" __attribute__((visibility("default"))) const char* troupe_program_build() {         \
        return TROUPE_BUILD;                                                                       \
    }                                                                                              \
    extern "C" __attribute__((visibility("default"))) void troupe_program(                         \
        ::troupe::scheduled::program& to) {                                                        \
        to = make();                                                                               \
    }
