// Fuzz target: arbitrary bytes as counts of LDA-C or UCI, with a vocabulary and without, and as a vocabulary; plain or gzip.
#include "tests/fuzz/document_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static const test::data_files files;
    static const std::string words = files.plain("words", "cat\nthe\nDog\n\xc3\xa9\xc3\xa9\nox\n");
    static const std::string counts = files.plain("counts", "3 0:1 1:2 3:1\n1 2:1\n");
    static memory_file file;
    const std::string name = file.with(in);
    document_settings settings{.format = document_format::counts, .source = {name, "counts"}};
    bool taken = check_documents(read_documents(settings));
    settings.vocabulary = {words, "vocabulary"};
    settings.words.has_english_stop_words = true;
    settings.words.length_min = 3;
    settings.bounds = {.documents_min = 2, .documents_max_share = 0.9, .words_max = 2};
    taken |= check_documents(read_documents(settings));
    taken |= check_documents(read_documents({.format = document_format::counts,
                                             .source = {counts, "counts"},
                                             .vocabulary = {name, "vocabulary"}}));
    return taken;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    std::vector<std::string> all{"2 0:1 2:3\n0\n\n1 2:16777216\n3 0:1 1:1 4:2\r\n",
                                 "3\n5\n4\n1 1 1\n1 3 2\n3 3 4\n3 5 1\n",
                                 "cat\nthe\ndog\n\xc3\xa9t\xc3\xa9\n"};
    all.push_back(files.read(files.gzip("x.gz", all[0])));
    return all;
}

} // namespace troupe::fuzz
