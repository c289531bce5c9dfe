// Named tensors of a test program, written to a safetensors file for a script to read.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "actors/checkpoint/safetensors.hpp"

namespace troupe::test {

class recorded_tensors {
  public:
    void add(std::string name, tensor t) { all_.emplace_back(std::move(name), std::move(t)); }

    bool write(const char* path) const {
        std::vector<named_tensor> named;
        for (const auto& [name, t] : all_)
            named.push_back({name, t.type(), t.shape(), {t.data(), t.bytes()}});
        std::ofstream file{path, std::ios::binary};
        file << safetensors_header(named, {});
        for (const auto& t : named)
            file.write(reinterpret_cast<const char*>(t.bytes.data()),
                       static_cast<std::streamsize>(t.bytes.size()));
        return file.flush().good();
    }

  private:
    std::vector<std::pair<std::string, tensor>> all_;
};

} // namespace troupe::test
