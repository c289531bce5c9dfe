// The module as it is opened on a machine with a driver that finds no GPU, which the stub beside this file stands for.
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "kernels/cuda/cuda_module.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace troupe;

namespace {

bool is_loaded(const std::string& file) {
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);)
        if (line.ends_with(file))
            return true;
    return false;
}

bool is_built() {
    const bool is = std::string{TROUPE_CUDA_MODULE} != "";
    if (!is)
        std::cout << "skipped: this build has no CUDA module" << std::endl;
    return is;
}

} // namespace

BOOST_AUTO_TEST_SUITE(cuda_modules)

BOOST_AUTO_TEST_CASE(a_module_that_is_not_there_is_told_by_its_path) {
    const auto refused = open_cuda_module("/nowhere/troupe_cuda.so");
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST(
        refused.failure().message() ==
        "this build has no CUDA module: there is no /nowhere/troupe_cuda.so; "
        "build it with nvcc of CUDA 13: `tools/setup -- -Dcuda=enabled` says what is missing "
        "for it");
}

BOOST_AUTO_TEST_CASE(a_library_that_is_no_module_is_refused) {
    const auto refused = open_cuda_module(TROUPE_STUB_DRIVER);
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST(refused.failure().message().ends_with(
        "is not the CUDA module of this build of troupe; build both anew"));
}

BOOST_AUTO_TEST_CASE(a_module_whose_libraries_are_missing_says_so) {
    if (!is_built())
        return;
    // The module, as it is where cuBLAS has another version.
    std::ifstream built{TROUPE_CUDA_MODULE, std::ios::binary};
    std::string bytes{std::istreambuf_iterator{built}, {}};
    const std::string needed = "libcublasLt.so.13";
    const std::size_t at = bytes.find(needed);
    BOOST_REQUIRE(at != std::string::npos);
    bytes.replace(at, needed.size(), "libcublasLt.so.99");
    const test::temporary_folder folder;
    const std::string path = folder.path() / "troupe_cuda.so";
    std::ofstream{path, std::ios::binary} << bytes;
    const auto refused = open_cuda_module(path);
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST(refused.failure().message().starts_with(
                   "the CUDA toolkit's libraries are missing: libcublasLt.so.99"),
               refused.failure().message());
}

BOOST_AUTO_TEST_CASE(the_module_loads_reports_what_is_missing_and_unloads) {
    if (!is_built())
        return;
    for (const auto& [version, says] :
         {std::pair{
              "13000",
              "the GPU is missing: the NVIDIA driver is there, but finds none on this machine"},
          {"12040",
           "the NVIDIA driver is too old: it is made for CUDA 12.4, and this build needs 13."}}) {
        setenv("TROUPE_STUB_DRIVER_VERSION", version, 1);
        {
            const auto opened = open_cuda_module(TROUPE_CUDA_MODULE);
            BOOST_REQUIRE(opened.ok());
            BOOST_TEST(is_loaded("troupe_cuda.so"));
            const auto gpus = (*opened)->gpus();
            BOOST_REQUIRE(!gpus.ok());
            BOOST_TEST((gpus.failure().code() == errc::usage));
            BOOST_TEST(gpus.failure().message().starts_with(says), gpus.failure().message());
        }
        BOOST_TEST(!is_loaded("troupe_cuda.so"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
