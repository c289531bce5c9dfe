// Runs work of oneDNN with errors instead of exceptions.
#pragma once

#include <dnnl.hpp>
#include <string>

#include "kernels/cpu/arithmetic_scope.hpp"
#include "kernels/cpu/scratch.hpp"
#include "schemas/base/error.hpp"

namespace troupe::cpu {

// Turns the exceptions of oneDNN and of scratch memory into errors.
template <class Work>
result<void> guarded(Work work) {
    const arithmetic_scope scope;
    try {
        work();
        return {};
    } catch (const out_of_memory& failure) {
        return failure.why;
    } catch (const dnnl::error& failure) {
        if (failure.status == dnnl_out_of_memory)
            return error{errc::exhausted, "the system has no memory left for oneDNN"};
        return error{errc::usage,
                     std::string{"oneDNN cannot compute this shape: "} + failure.what()};
    }
}

} // namespace troupe::cpu
