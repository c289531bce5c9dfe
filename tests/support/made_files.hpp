// Files of every format of data that is read, made up: as contents, and in a folder of a test's own.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zip.h>
#include <zlib.h>

#include "schemas/base/check.hpp"
#include "tests/support/temporary_folder.hpp"

namespace troupe::test {

// --- IDX

inline std::string big_endian_word(std::uint32_t value) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(value >> shift);
    return out;
}

inline std::string idx_label_file(const std::vector<int>& values) {
    std::string out =
        big_endian_word(0x801) + big_endian_word(static_cast<std::uint32_t>(values.size()));
    for (const int v : values)
        out += static_cast<char>(v);
    return out;
}

// `count` images of 2 x 3 whose pixels count up from 0.
inline std::string idx_image_file(std::uint32_t count) {
    std::string out =
        big_endian_word(0x803) + big_endian_word(count) + big_endian_word(2) + big_endian_word(3);
    for (std::uint32_t i = 0; i < count * 6; ++i)
        out += static_cast<char>(i);
    return out;
}

// --- CIFAR

// A record whose image is filled with one byte.
inline std::string cifar_record(const std::string& labels, int pixel) {
    return labels + std::string(3072, static_cast<char>(pixel));
}

// --- NumPy

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// A file as NumPy writes it, with the dictionary that is given.
inline std::string npy_with(std::string dictionary, const std::string& elements, char version = 1) {
    const std::size_t length_bytes = version == 1 ? 2 : 4;
    while ((8 + length_bytes + dictionary.size() + 1) % 64 != 0)
        dictionary += ' ';
    dictionary += '\n';
    std::string out = "\x93NUMPY";
    out += version;
    out += '\0';
    for (std::size_t i = 0; i < length_bytes; ++i)
        out += static_cast<char>(dictionary.size() >> (8 * i));
    return out + dictionary + elements;
}

inline std::string npy(const std::string& type, const std::string& shape,
                       const std::string& elements, char version = 1) {
    return npy_with("{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }",
                    elements, version);
}

// A vector, or with a shape any array, of these numbers.
template <class T>
std::string npy_of(const std::vector<T>& values, std::string shape = {}) {
    const std::string type = std::is_same_v<T, std::uint8_t>   ? "|u1"
                             : std::is_same_v<T, std::int32_t> ? "<i4"
                             : std::is_same_v<T, std::int64_t> ? "<i8"
                             : std::is_same_v<T, float>        ? "<f4"
                                                               : "<f8";
    return npy(type, shape.empty() ? std::to_string(values.size()) + "," : shape,
               raw_bytes(values));
}

// --- SciPy

// Names of members of an archive, and what is in them.
using zip_members = std::vector<std::pair<std::string, std::string>>;

// What scipy.sparse.save_npz writes of a matrix; the arrays' names are without ".npy".
inline zip_members scipy_members(const std::string& format, std::int64_t rows, std::int64_t columns,
                                 const zip_members& arrays) {
    zip_members all{{"format.npy", npy("|S" + std::to_string(format.size()), "", format)},
                    {"shape.npy", npy_of(std::vector<std::int64_t>{rows, columns})}};
    for (const auto& [name, array] : arrays)
        all.emplace_back(name + ".npy", array);
    return all;
}

// --- in a folder

class data_files {
  public:
    const std::filesystem::path& folder() const noexcept { return folder_.path(); }

    std::string plain(const std::string& name, const std::string& bytes) const {
        std::ofstream{folder() / name, std::ios::binary} << bytes;
        return folder() / name;
    }
    std::string gzip(const std::string& name, const std::string& bytes) const {
        gzFile out = gzopen((folder() / name).c_str(), "wb");
        TROUPE_CHECK(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())) ==
                             static_cast<int>(bytes.size()) &&
                         gzclose(out) == Z_OK,
                     "a test's file is written");
        return folder() / name;
    }
    // Members of these names with these contents, deflated or stored.
    std::string zip(const std::string& name, const zip_members& members, bool packed = true) const {
        zip_t* archive = zip_open((folder() / name).c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
        TROUPE_CHECK(archive != nullptr, "a test's archive is made");
        for (const auto& [member, contents] : members) {
            zip_source_t* source = zip_source_buffer(archive, contents.data(), contents.size(), 0);
            const zip_int64_t index = zip_file_add(archive, member.c_str(), source, 0);
            TROUPE_CHECK(index >= 0, "a test's archive takes members");
            zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                                     packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
        }
        TROUPE_CHECK(zip_close(archive) == 0, "a test's archive is written");
        return folder() / name;
    }
    static std::string read(const std::filesystem::path& file) {
        std::ifstream in{file, std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }

  private:
    temporary_folder folder_;
};

} // namespace troupe::test
