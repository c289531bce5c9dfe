// The `troupe` program with a second kind of job.
#include "tests/counter/counter.hpp"
#include "tools/troupe/program.hpp"
#include "tools/troupe/training_job.hpp"

int main(int argc, char** argv) {
    const troupe::cli::job_kind kinds[] = {troupe::cli::training_job(),
                                           troupe::counter::counter_job()};
    return troupe::cli::run_program(argc, argv, kinds);
}
