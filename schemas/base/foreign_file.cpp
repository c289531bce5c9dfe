#include "schemas/base/foreign_file.hpp"

#include <algorithm>

namespace troupe {

namespace {

using namespace std::string_view_literals;

struct foreign_format {
    std::string_view magic;
    std::string_view name;
    std::string_view advice;
    std::size_t at = 0;
};

constexpr std::string_view by_pandas =
    R"(convert it: python3 -c 'import pandas; pandas.read_parquet("IN").to_csv("OUT.csv", index=False)')";
constexpr std::string_view by_feather =
    R"(convert it: python3 -c 'import pandas; pandas.read_feather("IN").to_csv("OUT.csv", index=False)')";
constexpr std::string_view as_image = "images are read from arrays and IDX files: numpy.save them";
constexpr std::string_view bzip2_magic = "BZh";
constexpr std::string_view as_csv = "save the table as CSV";
constexpr std::string_view unpickle =
    "load it in Python, and save arrays by numpy.save, tables by to_csv(index=False), and weights "
    "by safetensors.torch.save_file";

// Sources: the specifications of these formats, and file(1).
constexpr foreign_format formats[] = {
    {"PAR1"sv, "a Parquet file", by_pandas},
    {"ARROW1"sv, "an Arrow (Feather) file", by_feather},
    {"FEA1"sv, "a Feather file", by_feather},
    {"\x28\xb5\x2f\xfd"sv, "data packed by zstd", "unpack it: zstd -d FILE"},
    {"\xfd"
     "7zXZ\0"sv,
     "data packed by xz", "unpack it: xz -d FILE"},
    {bzip2_magic, "data packed by bzip2", "unpack it: bzip2 -d FILE"},
    {"\x04\x22\x4d\x18"sv, "data packed by lz4", "unpack it: lz4 -d FILE"},
    {"\x1f\x9d"sv, "data packed by compress", "unpack it: gunzip FILE"},
    {"\x1f\x8b"sv, "data packed by gzip twice", "unpack it once: gunzip FILE.gz"},
    {"PK\x03\x04"sv, "a zip archive", "unpack it, and name a file of it"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "unpack it: 7z x FILE"},
    {"Rar!\x1a\x07"sv, "a RAR archive", "unpack it: unrar x FILE"},
    {"ustar"sv, "a tar archive", "unpack it, tar -xf FILE, and name a file of it", 257},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file",
     R"(save its array: numpy.save("OUT.npy", h5py.File("IN")["NAME"][:]))"},
    {"MATLAB 5.0 MAT-file"sv, "a file of MATLAB",
     R"(save its array: numpy.save("OUT.npy", scipy.io.loadmat("IN")["NAME"]))"},
    {"\x80\x02"sv, "a Python pickle", unpickle},
    {"\x80\x03"sv, "a Python pickle", unpickle},
    {"\x80\x04"sv, "a Python pickle", unpickle},
    {"\x80\x05"sv, "a Python pickle", unpickle},
    {"RDX2\n"sv, "a file of R", "write the table by write.csv(row.names=FALSE)"},
    {"RDX3\n"sv, "a file of R", "write the table by write.csv(row.names=FALSE)"},
    {"SQLite format 3\0"sv, "an SQLite database", as_csv},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "a document of Microsoft Office", as_csv},
    {"Obj\x01"sv, "an Avro file", as_csv},
    {"%PDF-"sv, "a PDF document", "save its text or table as a text file"},
    {"\x89PNG\r\n\x1a\n"sv, "a PNG image", as_image},
    {"\xff\xd8\xff"sv, "a JPEG image", as_image},
};

// Formats that are read, for files that end within their magic.
constexpr std::string_view read_magics[] = {"\x93NUMPY"sv};

bool has_control_character(std::string_view text) {
    return std::ranges::any_of(text, [](char c) {
        return (c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == '\x7f';
    });
}

bool is_text(std::string_view text) {
    return !has_control_character(text) &&
           std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Text may well begin as some of the magics do: in binary files there are other bytes soon.
bool is_cut(std::string_view whole_file, std::string_view magic) {
    return whole_file.size() > 1 && whole_file.size() < magic.size() &&
           magic.starts_with(whole_file) && !is_text(whole_file);
}

bool begins_as(std::string_view beginning, const foreign_format& format) {
    return beginning.size() > format.at && beginning.substr(format.at).starts_with(format.magic) &&
           (!is_text(format.magic) || has_control_character(beginning));
}

// The digit says how large its blocks are.
bool is_bzip2(std::string_view beginning) {
    return beginning.size() > 9 && beginning.starts_with(bzip2_magic) && beginning[3] >= '1' &&
           beginning[3] <= '9' && beginning.substr(4, 6) == "1AY&SY";
}

} // namespace

std::string why_foreign(std::string_view beginning) {
    for (const foreign_format& format : formats) {
        if (format.magic == bzip2_magic ? is_bzip2(beginning) : begins_as(beginning, format))
            return std::string{format.name}.append("; ").append(format.advice);
        if (format.at == 0 && is_cut(beginning, format.magic))
            return "truncated: the first " + std::to_string(beginning.size()) + " bytes of " +
                   std::string{format.name} + "; fetch the file again";
    }
    for (const std::string_view magic : read_magics)
        if (is_cut(beginning, magic))
            return "truncated: the first " + std::to_string(beginning.size()) +
                   " bytes of an array of NumPy; fetch the file again";
    return {};
}

} // namespace troupe
