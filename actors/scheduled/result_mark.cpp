#include "actors/scheduled/result_mark.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

#include <capnp/schema.h>

#include "actors/checkpoint/file_writer.hpp"
#include "actors/data/files/input_file.hpp"
#include "actors/scheduled/written_files.hpp"
#include "schemas/base/json.hpp"
#include "schemas/base/printable.hpp"

namespace troupe::scheduled {

namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t mark_bytes_max = 1u << 16;
constexpr std::size_t shown_bytes_max = 64;

template <class Enum>
std::string word_of(Enum value) {
    const auto words = capnp::Schema::from<Enum>().getEnumerants();
    return words[static_cast<unsigned>(value)].getProto().getName().cStr();
}

// The rules that decide which words there are, and how they are written. Counts have the words of their vocabulary, which
// nothing cuts.
result<json> words_of(proto::ProgramData::Reader data) {
    json words = json::object();
    if (!data.isDocuments())
        return words;
    const auto from = data.getDocuments();
    if (from.isCounts() && !from.hasVocabulary())
        return words;
    if (!from.isCounts())
        words["stem"] = word_of(from.getStem());
    words["stop_words"] = word_of(from.getStopWords());
    words["length_min"] = from.getLengthMin();
    words["stop_words_file"] = "none";
    if (!from.hasStopWordsFile())
        return words;
    const auto file = read_whole(from.getStopWordsFile().cStr());
    if (!file)
        return file.failure().in("data.documents.stop_words_file");
    sha256 hash;
    hash.add(std::as_bytes(std::span{file->bytes}));
    words["stop_words_file"] = "sha256 " + hash.hex();
    return words;
}

// None: there is no such file.
result<std::optional<json>> read_mark(const fs::path& folder) {
    const fs::path file = folder / result_mark_name;
    std::error_code failed;
    if (!fs::exists(file, failed))
        return std::optional<json>{};
    const auto length = file_length(file);
    if (!length)
        return length.failure();
    const auto read = *length > mark_bytes_max ? error{errc::data, ""} : read_whole(file);
    auto mark =
        read ? json::parse({reinterpret_cast<const char*>(read->bytes.data()), read->bytes.size()})
             : std::nullopt;
    if (!mark || !std::as_const(*mark)["program"].text())
        return error{errc::data, file.string() + ": is not what a run leaves in a result's folder"};
    return mark;
}

std::string shown(const json& mark) {
    return '"' + printable(mark["program"].text().value_or(""), shown_bytes_max) + '"';
}

bool is_of(const json& mark, const std::string& program) {
    return mark["program"] == program;
}

// The first one by name; empty: there is none.
result<std::string> first_file_in(const fs::path& folder) {
    std::string first;
    std::error_code failed;
    if (!fs::exists(folder, failed))
        return first;
    for (fs::directory_iterator at{folder, failed}, end; !failed && at != end;
         at.increment(failed)) {
        const std::string name = at->path().filename();
        std::error_code ignored;
        if (!name.starts_with('.') && !at->is_directory(ignored) && (first.empty() || name < first))
            first = name;
    }
    if (failed)
        return error{errc::io, "result.directory: " + folder.string() + ": cannot be read: " +
                                   failed.message() + "; choose another folder"};
    return first;
}

} // namespace

result<void> check_result_folder(const fs::path& folder, const std::string& program) {
    const auto refuse = [&](const std::string& why) {
        return error{errc::usage, "result.directory: " + folder.string() + ": " + why +
                                      "; name a new folder, or empty this one"};
    };
    const auto first = first_file_in(folder);
    if (!first)
        return first.failure();
    if (first->empty())
        return {};
    const auto mark = read_mark(folder);
    if (!mark || !*mark)
        return refuse("has files that are no result of " + program + ", such as " +
                      printable(*first, shown_bytes_max));
    if (!is_of(**mark, program))
        return refuse("has a result of the program " + shown(**mark) + ", which " + program +
                      " would write over");
    return {};
}

result<std::string> result_mark_of(const std::string& program, proto::ProgramData::Reader data) {
    auto words = words_of(data);
    if (!words)
        return words.failure();
    json mark{{"program", program}};
    if (!words->empty())
        mark["words"] = std::move(*words);
    return mark.dump(2) + '\n';
}

// A list that would make the mark too long to be read is left out.
result<void> write_result_mark(const fs::path& folder, const std::string& mark,
                               const std::vector<std::string>& files) {
    auto whole = json::parse(mark);
    TROUPE_CHECK(whole && whole->is_object(), "a mark is made by result_mark_of");
    (*whole)["files"] = files;
    std::string text = whole->dump(2) + '\n';
    if (text.size() > mark_bytes_max)
        text = mark;
    return write_file(folder / result_mark_name, [&](std::ofstream& out) { out << text; });
}

// Anybody may have written the mark: what it lists is deleted only if it is a file right there.
std::vector<std::string> files_of_result(const fs::path& folder) {
    const auto mark = read_mark(folder);
    if (!mark || !*mark)
        return {};
    std::vector<std::string> files;
    const json& all = **mark;
    for (const json& listed : all["files"].items()) {
        const std::string name = listed.text().value_or("");
        std::error_code failed;
        const bool is_plain = !name.empty() && name.front() != '.' && name != result_mark_name &&
                              name.find_first_of(std::string_view{"/\0", 2}) == std::string::npos;
        if (is_plain && fs::symlink_status(folder / name, failed).type() == fs::file_type::regular)
            files.push_back(name);
    }
    return files;
}

result<void> check_result_mark(const fs::path& folder, const std::string& program,
                               proto::ProgramData::Reader data) {
    const std::string advice = "; give the folder that " + program + " wrote (result.directory)";
    const auto mark = read_mark(folder);
    if (!mark)
        return error{mark.failure().code(), "RESULT: " + mark.failure().message() + advice};
    if (!*mark)
        return error{errc::usage,
                     "RESULT: " + folder.string() + ": has no " + result_mark_name + advice};
    if (!is_of(**mark, program))
        return error{errc::usage, "RESULT: " + folder.string() + ": is a result of the program " +
                                      shown(**mark) + advice};
    const auto words = words_of(data);
    if (!words)
        return words.failure();
    const json& saved_mark = **mark;
    for (const auto& [key, now] : words->members()) {
        const json* const found = saved_mark["words"].find(key);
        if (found == nullptr || *found == now)
            continue;
        const std::string saved = printable(found->text().value_or(found->dump()), 80);
        return error{errc::usage, "data.documents." + key + ": is not that of the words in " +
                                      folder.string() + ", which is " + saved +
                                      "; give the same for data and result"};
    }
    return {};
}

} // namespace troupe::scheduled
