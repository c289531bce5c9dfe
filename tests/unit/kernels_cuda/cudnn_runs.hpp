// How often the emulated cuDNN has computed something.
#pragma once

#include <boost/test/unit_test.hpp>
#include <dlfcn.h>

#include "kernels/cuda/cudnn_api.hpp"

namespace troupe::test {

inline unsigned runs_of_cudnn() {
    BOOST_REQUIRE_MESSAGE(cuda::dnn::library() != nullptr,
                          "the emulated cuDNN is found: LD_LIBRARY_PATH names its folder");
    void* const opened = dlopen("emulated_cudnn.so", RTLD_NOW | RTLD_NOLOAD);
    BOOST_REQUIRE(opened != nullptr);
    const auto runs = reinterpret_cast<unsigned (*)()>(dlsym(opened, "emulated_cudnn_runs"));
    dlclose(opened);
    return runs();
}

} // namespace troupe::test
