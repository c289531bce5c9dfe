// For loops that the compiler is to turn into vector instructions.
#pragma once

// Before a loop in which no element depends on another: what is written lies apart from what is read, or in the same place.
#define TROUPE_EACH_BY_ITSELF _Pragma("GCC ivdep")
