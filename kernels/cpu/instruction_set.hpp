// The instruction set that the loops of this back end use.
#pragma once

#include <cstdint>
#include <string>

namespace troupe::cpu {

// Each has what those before it have; avx512 is that of servers, with its parts for bytes, words and shorter vectors.
enum class instruction_set : std::uint8_t { baseline, avx2, avx512, avx512_bf16 };

// The widest that this machine has, but no wider than oneDNN is held to: with ONEDNN_MAX_CPU_ISA in the environment all
// of this back end computes as on a machine that has no more. Any thread.
instruction_set widest_instruction_set() noexcept;

// The name of a set that oneDNN numbers so (dnnl_cpu_isa_t); with `bf16_dot_products` those of bfloat16 are taken where they
// are fast (bf16_is_faster in bf16_loops.hpp), which gives other bits. The first word of a known set is its value of
// ONEDNN_MAX_CPU_ISA: "AVX2", "AVX512_CORE_BF16 with dot products of bf16". Unknown sets have different names, too.
std::string name_of_instruction_set(unsigned number, bool bf16_dot_products);

// The name of what oneDNN's products and convolutions take here. Those of another name add in another order, which gives
// other bits. Any thread.
std::string name_of_instruction_set();

} // namespace troupe::cpu
