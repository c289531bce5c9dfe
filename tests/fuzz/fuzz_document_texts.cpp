// Fuzz target: arbitrary bytes as a text whose lines are documents, and as a list of stop words; plain or gzip.
#include "tests/fuzz/document_checks.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static const test::data_files files;
    static const std::string text = files.plain("text", "A cat, the dogs\nand cats\n");
    static memory_file file;
    const std::string name = file.with(in);
    document_settings settings{.format = document_format::lines, .source = {name, "lines"}};
    bool taken = check_documents(read_documents(settings));
    settings.words.has_english_stop_words = true;
    settings.words.stems = "english";
    settings.bounds = {.documents_min = 2, .documents_max_share = 0.75, .words_max = 3};
    taken |= check_documents(read_documents(settings));
    settings = {.format = document_format::lines, .source = {text, "lines"}};
    settings.words.stop_words = {name, "stop_words_file"};
    settings.words.stems = "french";
    taken |= check_documents(read_documents(settings));
    return taken;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    std::vector<std::string> all{
        "To be, or not to be\n\n12\nDon't connect connections; connected.\r\n",
        "\xef\xbb\xbf\xc3\x84rger \xc3\x89T\xc3\x89 \xce\xa9\xcf\x89 \xd0\x96\xd0\xb6\n"
        "\xe6\x97\xa5\xe6\x9c\xac\xe3\x80\x81\xe8\xaa\x9e e\xcc\x81t \xf0\x9f\x98\x80 x\n",
        std::string(120, 'x') + " y"};
    all.push_back(files.read(files.gzip("x.gz", all[0])));
    return all;
}

} // namespace troupe::fuzz
