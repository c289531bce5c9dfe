#include "tools/troupe/shipped_programs.hpp"

#include "apps/factorization/factorization.hpp"
#include "apps/lasso/lasso.hpp"
#include "apps/lda/lda.hpp"
#include "apps/tsp/tsp.hpp"

namespace troupe::cli {

scheduled::program_table shipped_programs() {
    return {factorization::factorization_program(), lasso::lasso_program(), lda::lda_program(),
            tsp::tsp_program()};
}

} // namespace troupe::cli
