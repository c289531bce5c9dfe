// The program "lda": topics of documents by collapsed Gibbs sampling; the counts of words rotate, those of documents stay.
//
//     const scheduled::program_table programs{lda::lda_program()};
//
// Source: latent Dirichlet allocation, Blei, Ng and Jordan, JMLR 2003; Griffiths and Steyvers, PNAS 2004; the rotation of
// words is that of STRADS, "Primitives for dynamic big model parallelism", Lee et al., NIPS 2014.
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::lda {

scheduled::program lda_program();

} // namespace troupe::lda
