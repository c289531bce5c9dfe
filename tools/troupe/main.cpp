// The `troupe` program: the kinds of jobs that it knows.
#include "apps/factorization/factorization.hpp"
#include "apps/lasso/lasso.hpp"
#include "tools/troupe/program.hpp"
#include "tools/troupe/program_job.hpp"
#include "tools/troupe/program_modules.hpp"
#include "tools/troupe/training_job.hpp"

int main(int argc, char** argv) {
    using namespace troupe::cli;
    return run_program(
        argc, argv,
        [](const std::vector<std::string>& modules) -> troupe::result<std::vector<job_kind>> {
            auto programs = programs_with(
                {troupe::factorization::factorization_program(), troupe::lasso::lasso_program()},
                modules);
            if (!programs)
                return programs.failure();
            return std::vector{training_job(), program_job(*programs)};
        });
}
