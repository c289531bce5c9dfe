#include "tools/troupe/shipped_programs.hpp"

#include "apps/lasso/lasso.hpp"

namespace troupe::cli {

scheduled::program_table shipped_programs() {
    return {lasso::lasso_program()};
}

} // namespace troupe::cli
