// Fuzz target: arbitrary bytes as an IDX file of images, and as one of labels; plain or gzip.
#include "actors/data/files/idx_file.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const std::string name = file.with(in);
    const auto images = read_idx_images(name);
    if (images)
        TROUPE_CHECK(images->pixels.size() == images->count * images->rows * images->columns,
                     "all pixels are there");
    else
        check_refusal(images.failure());
    const auto labels = read_idx_labels(name);
    if (!labels)
        check_refusal(labels.failure());
    return images.ok() || labels.ok();
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    return {test::idx_image_file(3), test::idx_label_file({1, 0, 7}),
            files.read(files.gzip("images.gz", test::idx_image_file(40))),
            files.read(files.gzip("labels.gz", test::idx_label_file({9, 3})))};
}

} // namespace troupe::fuzz
