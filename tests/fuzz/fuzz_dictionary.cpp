// Fuzz target: arbitrary bytes as the index of a dictionary, and as its texts; plain or gzip.
#include "actors/data/sparse/dictionary.hpp"
#include "tests/fuzz/document_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static const test::data_files files;
    static const std::string texts =
        files.plain("texts", "about it\ncat\n  a pet\ndog\n  a pet of the caf\xc3\xa9\n");
    static const std::string index =
        files.plain("index", "00-database-info\tA\tJ\ncat\tJ\tM\nkitten\tJ\tM\ndog\tV\tK\n");
    static memory_file file;
    const std::string name = file.with(in);
    bool taken = check_documents(read_dictionary(texts, name, {}, {}));
    taken |= check_documents(read_dictionary(name, index, {.length_min = 2}, {}));
    return taken;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    std::vector<std::string> all{
        "00-database-info\tA\tJ\ncat\tJ\tM\nkitten\tJ\tM\tmore\n\xc3\xa9\x01\tV\tS\r\n",
        "whatever\nmouse\n  small, grey\nox\n  large\n"};
    all.push_back(files.read(files.gzip("x.gz", all[1])));
    return all;
}

} // namespace troupe::fuzz
