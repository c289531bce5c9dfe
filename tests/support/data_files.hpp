// Data files of a test's own: plain, gzip and zip.
#pragma once

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>

#include <zlib.h>

#include "schemas/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe::test {

class data_files {
  public:
    const std::filesystem::path& folder() const noexcept { return folder_.path(); }

    std::string plain(const std::string& name, const std::string& bytes) const {
        std::ofstream{folder() / name, std::ios::binary} << bytes;
        return folder() / name;
    }
    std::string gzip(const std::string& name, const std::string& bytes) const {
        gzFile out = gzopen((folder() / name).c_str(), "wb");
        BOOST_REQUIRE(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())) ==
                      static_cast<int>(bytes.size()));
        BOOST_REQUIRE(gzclose(out) == Z_OK);
        return folder() / name;
    }
    static std::string read(const std::filesystem::path& file) {
        std::ifstream in{file, std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }

  private:
    temporary_folder folder_;
};

// What a failed result says.
template <class T>
std::string refusal_of(const result<T>& r, errc code = errc::data) {
    BOOST_REQUIRE(!r.ok());
    BOOST_TEST((r.failure().code() == code));
    return r.failure().message();
}

} // namespace troupe::test
