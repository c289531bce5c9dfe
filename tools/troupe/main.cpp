// The `troupe` program: the kinds of jobs that it knows.
#include "tools/troupe/program.hpp"
#include "tools/troupe/training_job.hpp"

int main(int argc, char** argv) {
    using namespace troupe::cli;
    const job_kind kinds[] = {training_job()};
    return run_program(argc, argv, kinds);
}
