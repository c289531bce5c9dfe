// The program "factorization": a sparse matrix of ratings as products of factors of users and items, by stochastic gradient
// descent on blocks of items that rotate, or by coordinate descent.
//
//     const scheduled::program_table programs{factorization::factorization_program()};
//
// Source: STRADS, "Primitives for dynamic big model parallelism", Lee et al., NIPS 2014; "Matrix factorization techniques
// for recommender systems", Koren, Bell and Volinsky, 2009; CCD++, Yu, Hsieh, Si and Dhillon, ICDM 2012.
#pragma once

#include "actors/scheduled/program.hpp"

namespace troupe::factorization {

scheduled::program factorization_program();

} // namespace troupe::factorization
