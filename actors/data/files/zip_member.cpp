#include "actors/data/files/zip_member.hpp"

#include <algorithm>

#include <zip.h>

#include "schemas/base/limits.hpp"
#include "schemas/base/nearest.hpp"
#include "schemas/base/printable.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t packing_ratio_max = 1032; // as in input_file.cpp
constexpr std::size_t names_shown_max = 8;

struct archive_closer {
    void operator()(zip_t* archive) const noexcept { zip_discard(archive); }
};
struct member_closer {
    void operator()(zip_file_t* member) const noexcept { zip_fclose(member); }
};
using archive_ptr = std::unique_ptr<zip_t, archive_closer>;
using member_ptr = std::unique_ptr<zip_file_t, member_closer>;

class zip_source final : public byte_source {
  public:
    // `stored_bytes`: length of the member in the archive; the archive is at least as long.
    zip_source(archive_ptr archive, member_ptr member, std::uint64_t stored_bytes, bool packed)
        : archive_{std::move(archive)}, member_{std::move(member)},
          stored_bytes_{stored_bytes}, packed_{packed} {}

    result<std::size_t> read(std::span<std::uint8_t> into) override {
        const zip_int64_t got = zip_fread(member_.get(), into.data(), into.size());
        if (got >= 0)
            return static_cast<std::size_t>(got);
        const std::string why = zip_file_strerror(member_.get());
        return error{errc::data, "damaged zip data (" + why + "); fetch the file again"};
    }

    bool can_hold(std::uint64_t offset, std::uint64_t bytes) const noexcept override {
        return packed_ ? bytes / packing_ratio_max <= stored_bytes_
                       : bytes <= stored_bytes_ - std::min(offset, stored_bytes_);
    }

  private:
    archive_ptr archive_;
    member_ptr member_; // closed before its archive
    std::uint64_t stored_bytes_;
    bool packed_;
};

// Member names by number, without the suffix.
std::vector<std::string> members_of(zip_t* archive, const std::string& suffix) {
    std::vector<std::string> names;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
        const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
        names.emplace_back(name == nullptr ? "" : name);
        if (names.back().ends_with(suffix))
            names.back().resize(names.back().size() - suffix.size());
    }
    return names;
}

error no_such_member(const std::filesystem::path& path, const std::string& name,
                     const std::vector<std::string>& names) {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(names.size(), names_shown_max); ++i)
        shown.push_back(printable(names[i], limits::name_bytes_max));
    if (names.size() > shown.size())
        shown.push_back("...");
    return {errc::data, path.string() + ": " +
                            (name.empty() ? "which array?" : "no array \"" + name + "\".") +
                            " It holds " + (names.empty() ? "none" : join(shown)) + "; write " +
                            path.filename().string() + ":NAME"};
}

result<archive_ptr> open_archive(const std::filesystem::path& path) {
    int code = 0;
    archive_ptr archive{zip_open(path.c_str(), ZIP_RDONLY, &code)};
    if (archive)
        return archive;
    zip_error_t why;
    zip_error_init_with_code(&why, code);
    const std::string sentence = path.string() + ": byte 0: no readable zip archive (" +
                                 zip_error_strerror(&why) + "); fetch the file again";
    zip_error_fini(&why);
    return error{errc::data, sentence};
}

} // namespace

result<input_file> open_zip_member(const std::filesystem::path& path, const std::string& name,
                                   const std::string& suffix) {
    const auto length = file_length(path);
    if (!length)
        return length.failure();
    auto archive = open_archive(path);
    if (!archive)
        return archive.failure();
    const auto names = members_of(archive->get(), suffix);
    const auto found =
        name.empty() && names.size() == 1 ? names.begin() : std::ranges::find(names, name);
    if (found == names.end())
        return no_such_member(path, name, names);
    const auto index = static_cast<zip_uint64_t>(found - names.begin());
    const std::string whole_name = path.string() + ":" + printable(*found, limits::name_bytes_max);
    zip_stat_t about;
    zip_stat_init(&about);
    member_ptr member{zip_fopen_index(archive->get(), index, 0)};
    if (!member || zip_stat_index(archive->get(), index, 0, &about) != 0)
        return error{errc::data, whole_name + ": byte 0: cannot be unpacked (" +
                                     zip_strerror(archive->get()) +
                                     "); pack it by deflate or not at all"};
    const bool packed = about.comp_method != ZIP_CM_STORE;
    return input_file{whole_name, std::make_unique<zip_source>(
                                      std::move(*archive), std::move(member),
                                      std::min<std::uint64_t>(about.comp_size, *length), packed)};
}

result<std::vector<std::string>> zip_member_names(const std::filesystem::path& path,
                                                  const std::string& suffix) {
    if (const auto length = file_length(path); !length)
        return length.failure();
    const auto archive = open_archive(path);
    if (!archive)
        return archive.failure();
    return members_of(archive->get(), suffix);
}

} // namespace troupe
