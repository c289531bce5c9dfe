// The contract of readers (tests/support/file_forms.hpp): files of formats that nothing here reads, and what is no file, are
// told by every reader.
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "actors/data/files/idx_file.hpp"
#include "actors/data/matrix/target_vector.hpp"
#include "actors/data/samples/npy_reader.hpp"
#include "actors/data/samples/parallel_text.hpp"
#include "actors/data/samples/subwords.hpp"
#include "actors/data/sparse/documents.hpp"
#include "actors/data/sparse/ratings.hpp"
#include "schemas/base/foreign_file.hpp"
#include "tests/support/file_forms.hpp"
#include "tests/support/matrix_forms.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

template <class T>
reading told(const result<T>& found) {
    return found ? reading{"read", {}} : refusal(found);
}

const std::vector<std::pair<std::string, form_reader>> readers{
    {"matrix", [](const std::string& path) { return told(open_matrix(features_in(path))); }},
    {"targets", [](const std::string& path) { return told(read_targets(path)); }},
    {"images", [](const std::string& path) { return told(read_idx_images(path)); }},
    {"array", [](const std::string& path) { return told(read_npy(path, npy_use::inputs)); }},
    {"ratings",
     [](const std::string& path) {
         return told(read_ratings({.train = {path, ""}, .test = {}}));
     }},
    {"counts",
     [](const std::string& path) {
         return told(read_documents({.format = document_format::counts, .source = {path, ""}}));
     }},
    {"lines",
     [](const std::string& path) {
         return told(read_documents({.format = document_format::lines, .source = {path, ""}}));
     }},
    {"sentences", [](const std::string& path) { return told(read_parallel_text(path, "")); }},
    {"tokens", [](const std::string& path) { return told(subwords::load(path)); }},
};

std::string padded(const std::string& magic, std::size_t at = 0) {
    std::string start(at, '\0');
    if (at > 0)
        start[0] = 'x'; // a name
    return start + magic + std::string(300, '\0');
}

const std::vector<file_form> foreign_forms{
    {"Parquet", padded("PAR1"), "",
     "a Parquet file; convert it: python3 -c 'import pandas; "
     "pandas.read_parquet(\"IN\").to_csv(\"OUT.csv\", index=False)'"},
    {"Arrow", padded("ARROW1"), "", "an Arrow (Feather) file; convert it: python3"},
    {"Feather", padded("FEA1"), "", "a Feather file; convert it: python3"},
    {"zstd", padded("\x28\xb5\x2f\xfd"), "", "data packed by zstd; unpack it: zstd -d FILE"},
    {"xz",
     padded("\xfd"
            "7zXZ"),
     "", "data packed by xz; unpack it: xz -d FILE"},
    {"bzip2", padded("BZh91AY&SY"), "", "data packed by bzip2; unpack it: bzip2 -d FILE"},
    {"lz4", padded("\x04\x22\x4d\x18"), "", "data packed by lz4"},
    {"7z", padded("7z\xbc\xaf\x27\x1c"), "", "a 7z archive"},
    {"tar", padded("ustar", 257), "", "a tar archive; unpack it, tar -xf FILE, and name a file"},
    {"HDF5", padded("\x89HDF\r\n\x1a\n"), "", "an HDF5 file; save its array: numpy.save("},
    {"MATLAB", padded("MATLAB 5.0 MAT-file"), "", "a file of MATLAB; save its array"},
    {"pickle", padded("\x80\x04\x95"), "", "a Python pickle; load it in Python, and save arrays"},
    {"old weights of PyTorch", padded("\x80\x02\x8a\x0a"), "", "weights by safetensors.torch"},
    {"R", padded("RDX3\n"), "", "a file of R; write the table by write.csv(row.names=FALSE)"},
    {"SQLite", padded("SQLite format 3"), "", "an SQLite database; save the table as CSV"},
    {"Excel", padded("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "", "a document of Microsoft Office"},
    {"PNG", padded("\x89PNG\r\n\x1a\n"), "", "a PNG image"},
    {"PDF", padded("%PDF-1.7"), "", "a PDF document"},
    {"the first bytes of HDF5", "\x89HDF", "", "truncated: the first 4 bytes of an HDF5 file"},
    {"the first bytes of xz",
     "\xfd"
     "7zX",
     "", "truncated: the first 4 bytes of data packed by xz"},
    {"the first bytes of zstd", "\x28\xb5", "", "truncated: the first 2 bytes of data packed by"},
};

} // namespace

BOOST_AUTO_TEST_SUITE(contract_of_all_readers)

BOOST_AUTO_TEST_CASE(files_of_other_formats_are_named) {
    const data_files files;
    for (const auto& [reader, read] : readers)
        BOOST_TEST_CONTEXT(reader) {
            for (const file_form& form : foreign_forms) {
                check_form(form, files.plain("file", form.bytes), read);
                if (form.bytes.size() > 300)
                    check_form(form, files.gzip("file", form.bytes), read);
            }
            const std::string once = files.read(files.gzip("file", "1 2 3\n"));
            check_form({"gzip twice", {}, "", "data packed by gzip twice"},
                       files.gzip("file", once), read);
        }
    for (const auto& [reader, read] : readers)
        BOOST_TEST_CONTEXT(reader) {
            const bool takes_archives = reader == "matrix" || reader == "targets";
            check_form({"zip",
                        {},
                        "",
                        takes_archives ? "a zip archive" : "a zip archive; unpack it, and name"},
                       files.zip("file", {{"table.csv", "1,2\n"}}), read);
        }
}

// The sentence of each reader about a file of no bytes.
const std::map<std::string, std::string> nothing_there{
    {"matrix", "the file holds no rows"},
    {"targets", "the file holds no rows"},
    {"images", "the header ends after 0 of 4 bytes"},
    {"array", "the header ends after 0 of 8 bytes"},
    {"ratings", "the file holds no ratings"},
    {"counts", "the file is empty"},
    {"lines", "the vocabulary is empty"},
    {"sentences", "no line has a sentence"},
    {"tokens", "no SentencePiece model"}};

BOOST_AUTO_TEST_CASE(what_is_no_file_is_told) {
    const data_files files;
    const std::string pipe = files.folder() / "pipe";
    BOOST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    std::filesystem::create_directory(files.folder() / "folder");
    for (const auto& [reader, read] : readers)
        BOOST_TEST_CONTEXT(reader) {
            check_form({"a folder", {}, "", ": a folder, "}, files.folder() / "folder", read);
            check_form({"a pipe", {}, "", "a pipe or device, not a file; write what it gives"},
                       pipe, read);
            check_form({"no file", {}, "", "no such file"}, files.folder() / "none", read);
            check_form({"nothing", {}, "", nothing_there.at(reader)}, files.plain("empty", ""),
                       read);
            check_form({"cut gzip", {}, "", "truncated gzip data; fetch the file again"},
                       files.plain("file", std::string{"\x1f\x8b\x08\x00", 4}), read);
        }
}

BOOST_AUTO_TEST_CASE(texts_that_begin_like_other_formats_are_read) {
    for (const std::string text : {"PAR1,PAR2\n1,2\n", "BZh9,b\n1,2\n", "7z\n", "PK\n", "RDX2\n",
                                   "FEA1,x\n", "Obj,y\n", "ARROW1\n"})
        BOOST_TEST(why_foreign(text) == "", text);
    BOOST_TEST(why_foreign("") == "");
    BOOST_TEST(why_foreign("\x93NUMPY") == "");
}

BOOST_AUTO_TEST_SUITE_END()
