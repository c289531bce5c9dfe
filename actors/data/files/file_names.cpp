#include "actors/data/files/file_names.hpp"

#include <filesystem>

#include <glob.h>

namespace troupe {

namespace {

result<void> expand(const named_file& name, std::vector<named_file>& into) {
    std::error_code failed;
    if (name.path.find_first_of("*?[") == std::string::npos ||
        std::filesystem::exists(name.path, failed)) {
        into.push_back(name);
        return {};
    }
    glob_t found{};
    const int code = glob(name.path.c_str(), 0, nullptr, &found);
    for (std::size_t i = 0; code == 0 && i < found.gl_pathc; ++i)
        into.push_back({found.gl_pathv[i], name.key});
    globfree(&found);
    if (code == 0)
        return {};
    return error{errc::io, name.key + ": " + name.path + ": no file has such a name"};
}

} // namespace

result<std::vector<named_file>> expand_names(capnp::List<capnp::Text>::Reader names,
                                             const std::string& key) {
    std::vector<named_file> files;
    for (unsigned i = 0; i < names.size(); ++i)
        if (auto done = expand({names[i].cStr(), key + "[" + std::to_string(i) + "]"}, files);
            !done)
            return done.failure();
    return files;
}

} // namespace troupe
