// Marks for loops that the compiler should vectorise.
#pragma once

// Precedes a loop in which no element depends on another: outputs do not overlap inputs, or are the same memory.
#define TROUPE_EACH_BY_ITSELF _Pragma("GCC ivdep")
