#include <algorithm>

#include "kernels/cuda/cuda_operations.hpp"
#include "kernels/cuda/row_reductions.hpp"

namespace troupe {

namespace {

// ---- helpers ----------------------------------------------------------------------------------------------------------

// Rows keep their lengths until all are at right angles to those before them: nothing reads what another thread writes.
struct row_matrix {
    float* values;
    std::size_t columns;
    double* squares;  // of each row, as it was given
    double* units;    // of rows whose turn has come: 1 / length, 0 where too little is left
    double* products; // of each later row with the one whose turn it is

    __device__ float& at(std::size_t row, std::size_t column) const {
        return values[row * columns + column];
    }
};

// ---- kernels ----------------------------------------------------------------------------------------------------------

struct square {
    row_matrix m;
    __device__ double operator()(std::size_t row, std::size_t column) const {
        const double x{m.at(row, column)};
        return x * x;
    }
};
struct keep_square {
    row_matrix m;
    __device__ void operator()(std::size_t row, double sum) const { m.squares[row] = sum; }
};

// Products of the row whose turn it is with itself and each later one.
struct product {
    row_matrix m;
    std::size_t turn;
    __device__ double operator()(std::size_t after, std::size_t column) const {
        return double{m.at(turn + after, column)} * double{m.at(turn, column)};
    }
};
struct keep_product {
    row_matrix m;
    std::size_t turn;
    __device__ void operator()(std::size_t after, double sum) const {
        if (after == 0) {
            const double left = sqrt(sum);
            m.units[turn] = left > 1e-5 * sqrt(m.squares[turn]) ? 1 / left : 0;
        } else
            m.products[turn + after] = sum;
    }
};

// Calls function(row, column). A thread stays in its column.
template <class Function>
__global__ void each_of_rows_kernel(std::size_t rows, std::size_t columns, Function function) {
    const std::size_t column = cuda::first_element();
    if (column >= columns)
        return;
    for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y)
        function(row, column);
}

// Subtracts from later rows, as from row turn + 1 + row.
struct subtraction {
    row_matrix m;
    std::size_t turn;
    __device__ void operator()(std::size_t row, std::size_t column) const {
        const double unit = m.units[turn];
        if (unit == 0)
            return;
        const std::size_t later = turn + 1 + row;
        const double share = m.products[later] * unit * unit;
        float& x = m.at(later, column);
        x = static_cast<float>(double{x} - share * double{m.at(turn, column)});
    }
};

struct scaling {
    row_matrix m;
    __device__ void operator()(std::size_t row, std::size_t column) const {
        const double unit = m.units[row];
        float& x = m.at(row, column);
        x = unit == 0 ? 0 : static_cast<float>(double{x} * unit);
    }
};

// ---- launchers --------------------------------------------------------------------------------------------------------

template <class Function>
cudaError_t launch_each_of_rows(cudaStream_t stream, std::size_t rows, const Function& function) {
    constexpr std::size_t grid_rows_max = 65535;
    const std::size_t columns = function.m.columns;
    const std::size_t across = (columns + cuda::block_threads - 1) / cuda::block_threads;
    const dim3 grid{static_cast<unsigned>(across),
                    static_cast<unsigned>(std::min(rows, grid_rows_max))};
    return cuda::launch(stream, {grid}, each_of_rows_kernel<Function>, rows, columns, function);
}

} // namespace

result<void> cuda_operations::start(const orthonormalize_rows& op) {
    const std::size_t rows = op.input.shape()[0], columns = op.input.shape()[1];
    auto numbers = run_.scratch(std::max<std::size_t>(1, 3 * rows) * sizeof(double));
    if (!numbers)
        return numbers.failure();
    auto* const at = reinterpret_cast<double*>((*numbers)->data());
    const row_matrix m{cuda::floats(op.output), columns, at, at + rows, at + 2 * rows};
    if (op.input.data() != op.output.data())
        if (auto copied = cuda::checked(cudaMemcpyAsync(m.values, op.input.data(), op.input.bytes(),
                                                        cudaMemcpyDefault, run_.stream()),
                                        {&op.input});
            !copied)
            return copied;
    if (auto done = cuda::reduce_rows(run_, {rows, columns, columns}, 0.0, square{m}, cuda::plus{},
                                      keep_square{m}, {&op.input});
        !done)
        return done;
    for (std::size_t turn = 0; turn < rows; ++turn) {
        if (auto done =
                cuda::reduce_rows(run_, {rows - turn, columns, columns}, 0.0, product{m, turn},
                                  cuda::plus{}, keep_product{m, turn}, {&op.input});
            !done)
            return done;
        if (auto done = cuda::checked(
                launch_each_of_rows(run_.stream(), rows - turn - 1, subtraction{m, turn}),
                {&op.input});
            !done)
            return done;
    }
    return cuda::checked(launch_each_of_rows(run_.stream(), rows, scaling{m}), {&op.input});
}

} // namespace troupe
