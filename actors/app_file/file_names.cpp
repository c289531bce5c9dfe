#include "actors/app_file/file_names.hpp"

#include "schemas/base/limits.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

bool begins_variable(std::string_view text) {
    if (!text.starts_with('$') || text.size() == 1)
        return false;
    const char c = text[1];
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '{';
}

// A folder or file of the name that begins as variables do.
bool has_variable(std::string_view name) {
    for (std::size_t at = name.find('$'); at != std::string_view::npos; at = name.find('$', at + 1))
        if ((at == 0 || name[at - 1] == '/' || name.substr(at + 1, 1) == "{") &&
            begins_variable(name.substr(at)))
            return true;
    return false;
}

} // namespace

result<std::string> with_home(std::string_view name, const std::string& home) {
    const auto refuse = [&](std::string_view why) {
        return error{
            errc::usage,
            ("\"" + printable(std::string{name}, limits::name_bytes_max) + "\": ").append(why)};
    };
    if (has_variable(name))
        return refuse("variables have no value in file names; write the folder out, or ~ for the "
                      "home folder");
    if (!name.starts_with('~'))
        return std::string{name};
    const std::string_view rest = name.substr(1);
    if (!rest.empty() && !rest.starts_with('/'))
        return refuse("home folders of other users are not looked up; write the folder out, or "
                      "./~ where a name begins with ~");
    if (home.empty())
        return refuse("the home folder is not known; write it out");
    return home + std::string{rest};
}

} // namespace troupe
