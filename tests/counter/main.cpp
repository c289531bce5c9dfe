// The `troupe` program with a second kind of job.
#include "tests/counter/counter.hpp"
#include "tools/troupe/program.hpp"
#include "tools/troupe/training_job.hpp"

int main(int argc, char** argv) {
    using namespace troupe::cli;
    return run_program(
        argc, argv, [](const std::vector<std::string>&) -> troupe::result<std::vector<job_kind>> {
            return std::vector{training_job(), troupe::counter::counter_job()};
        });
}
