// The `troupe` program: the kinds of jobs that it knows.
#include "tools/troupe/program.hpp"
#include "tools/troupe/program_job.hpp"
#include "tools/troupe/program_modules.hpp"
#include "tools/troupe/shipped_programs.hpp"
#include "tools/troupe/training_job.hpp"

int main(int argc, char** argv) {
    using namespace troupe::cli;
    return run_program(
        argc, argv,
        [](const std::vector<std::string>& modules) -> troupe::result<std::vector<job_kind>> {
            auto programs = programs_with(shipped_programs(), modules);
            if (!programs)
                return programs.failure();
            return std::vector{training_job(), program_job(*programs)};
        });
}
