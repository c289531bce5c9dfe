#include "schemas/base/file_descriptor.hpp"

#include <unistd.h>

namespace troupe {

file_descriptor::~file_descriptor() {
    if (number_ >= 0)
        ::close(number_);
}

} // namespace troupe
