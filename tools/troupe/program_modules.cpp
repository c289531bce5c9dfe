#include "tools/troupe/program_modules.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "actors/app_file/app_kind.hpp"
#include "actors/checkpoint/file_writer.hpp"
#include "actors/scheduled/program_module.hpp"
#include "schemas/base/limits.hpp"

namespace troupe::cli {

namespace {

std::string hex(const unsigned char* bytes, std::size_t count) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

// The GNU build id among the notes of a segment; empty if it is not there.
std::string build_id_of(const char* at, std::size_t bytes) {
    const char* const end = at + bytes;
    const auto aligned = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        std::memcpy(&note, at, sizeof note);
        const char* const name = at + sizeof note;
        const char* const description = name + aligned(note.n_namesz);
        if (description + note.n_descsz > end)
            break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            std::memcmp(name, "GNU", 4) == 0)
            return hex(reinterpret_cast<const unsigned char*>(description), note.n_descsz);
        at = description + aligned(note.n_descsz);
    }
    return {};
}

// The first object is the program itself.
int find_build_id(dl_phdr_info* info, std::size_t, void* into) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& segment = info->dlpi_phdr[i];
        std::string& found = *static_cast<std::string*>(into);
        if (segment.p_type == PT_NOTE && found.empty())
            found = build_id_of(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr),
                                segment.p_memsz);
    }
    return 1;
}

result<scheduled::program> open_one(const std::string& file) {
    auto bytes = read_file(file, limits::checkpoint_file_bytes_max);
    if (!bytes)
        return error{errc::usage,
                     bytes.failure().message() + "; make the module by tools/program FOLDER"};
    // A name without a slash would be looked for in the system's folders.
    void* const opened =
        dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (opened == nullptr)
        return error{errc::usage, file + ": is no module of a program: " + dlerror()};
    const auto build = reinterpret_cast<troupe_program_build_function*>(
        dlsym(opened, scheduled::program_build_symbol));
    const auto make =
        reinterpret_cast<troupe_program_function*>(dlsym(opened, scheduled::program_symbol));
    if (build == nullptr || make == nullptr)
        return error{errc::usage, file +
                                      ": is no module of a program; it needs TROUPE_PROGRAM(...), "
                                      "see actors/scheduled/program_module.hpp"};
    const std::string own = build_of_this_program();
    if (own.empty() || build() != own)
        return error{errc::usage, file + ": is of another build of troupe; make it anew by "
                                         "tools/program FOLDER"};
    scheduled::program row;
    try {
        make(row);
    } catch (const std::exception& e) {
        return error{errc::usage, file + ": its program cannot be made: " + e.what()};
    }
    if (row.name.empty() || !row.make_scheduler || !row.make_worker)
        return error{errc::usage, file + ": its program has no name, or not both makers of parts"};
    sha256 hash;
    hash.add(*bytes);
    row.module_sha256 = hash.hex();
    return row;
}

} // namespace

std::string build_of_this_program() {
    std::string found;
    dl_iterate_phdr(&find_build_id, &found);
    return found;
}

result<std::shared_ptr<const scheduled::program_table>>
programs_with(scheduled::program_table shipped, const std::vector<std::string>& modules) {
    const auto all = std::make_shared<scheduled::program_table>(std::move(shipped));
    for (const std::string& file : modules) {
        auto row = open_one(file);
        if (!row)
            return row.failure().in("--program");
        if (std::ranges::find(*all, row->name, &scheduled::program::name) != all->end())
            return error{errc::usage, "--program: " + file + ": there is a program \"" + row->name +
                                          "\" already; give this one another name"};
        const app_member member{row->name, row->settings, row->doc};
        if (auto readable = check_members({&member, 1}); !readable)
            return readable.failure().in("--program: " + file);
        all->push_back(std::move(*row));
    }
    return std::shared_ptr<const scheduled::program_table>{all};
}

} // namespace troupe::cli
