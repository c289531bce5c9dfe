// All-reduce by OpenMPI, in place. One JSON object per size:
//     mpirun -n RANKS all_reduce_mpi [BYTES...]
#include <mpi.h>

#include "tests/bench/all_reduce_task.hpp"

namespace task = all_reduce_task;

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (const std::size_t bytes : task::sizes(argc - 1, argv + 1)) {
        std::vector<float> values(bytes / sizeof(float),
                                  task::first_value(static_cast<std::size_t>(rank)));
        const auto sum = [&] {
            MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT,
                          MPI_SUM, MPI_COMM_WORLD);
        };
        sum();
        task::check(values.data(), values.size(), static_cast<std::size_t>(ranks));
        std::ranges::fill(values, 0.0f);
        for (std::size_t i = 0; i < task::calls(bytes) / 4; ++i)
            sum();
        const double begin = MPI_Wtime();
        for (std::size_t i = 0; i < task::calls(bytes); ++i)
            sum();
        if (rank == 0)
            task::print(bytes, MPI_Wtime() - begin);
    }
    MPI_Finalize();
}
