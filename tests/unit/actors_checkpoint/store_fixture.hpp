// A folder for checkpoints, and what tests save there: layers with a weight and a bias each.
#pragma once

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include "actors/checkpoint/checkpoint_store.hpp"

namespace troupe::test {

inline const std::vector<float> weight = {1, 2, 3, 4, 5, 6};
inline const std::vector<float> bias = {7, 8};
inline const std::vector<float> speed = {0.5f, 0.25f, 0, 0, 0, -1};
inline const std::vector<float> bias_speed = {-2, 2};
inline const std::vector<std::string_view> velocity{"momentum_buffer"};

inline named_tensor tensor_of(const std::string& name, const tensor_shape& shape,
                              std::span<const float> values) {
    return {name, data_type::float32, shape, std::as_bytes(values)};
}

// As many of all parameters of a layer, but for the second.
inline update_counts updates_of(std::size_t l) {
    if (l != 1)
        return 10 * (l + 1);
    return std::map<std::string, std::uint64_t, std::less<>>{{"layers.1.weight", 21},
                                                             {"layers.1.bias", 22}};
}

// Layer `l` as a stage of its own: a weight (2, 3) and a bias (2), numbers shifted by nothing.
inline stage_tensors stage_of(std::size_t l, bool with_momentum) {
    const std::string name = "layers." + std::to_string(l);
    stage_tensors stage{
        {l, 1},
        {tensor_of(name + ".weight", {2, 3}, weight), tensor_of(name + ".bias", {2}, bias)},
        updates_of(l)};
    if (with_momentum) {
        stage.tensors.push_back(tensor_of("momentum_buffer." + name + ".weight", {2, 3}, speed));
        stage.tensors.push_back(tensor_of("momentum_buffer." + name + ".bias", {2}, bias_speed));
    }
    return stage;
}

inline checkpoint_progress progress_of(std::uint32_t epochs, std::uint64_t minibatches) {
    return {epochs,
            minibatches,
            minibatches - 100 * epochs,
            weight_version{minibatches},
            42,
            8,
            800,
            "input: [3]\nlayers:\n  - linear: {out: 2}\n",
            "",
            "sgd"};
}

struct store_fixture {
    std::filesystem::path folder;

    store_fixture() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "troupe-checkpoint-XXXXXX").string();
        BOOST_REQUIRE(mkdtemp(pattern.data()) != nullptr);
        folder = pattern;
    }
    ~store_fixture() { std::filesystem::remove_all(folder); }

    checkpoint_store open(std::uint32_t keep = 2) const {
        auto opened = checkpoint_store::open({folder, keep});
        BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.failure().message()));
        return std::move(opened).value();
    }

    static result<checkpoint_info> save(checkpoint_store& store,
                                        const checkpoint_progress& progress, std::size_t stages,
                                        bool with_momentum = true) {
        auto writer = store.begin(progress, stages);
        if (!writer)
            return writer.failure();
        for (std::size_t s = stages; s-- > 0;)
            if (auto written = writer->write_stage(stage_index{static_cast<std::uint32_t>(s)},
                                                   stage_of(s, with_momentum));
                !written)
                return written.failure();
        auto info = writer->commit();
        if (auto deleted = store.delete_older(); info && !deleted)
            return deleted.failure();
        return info;
    }

    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (const auto& e : std::filesystem::directory_iterator{folder})
            out.push_back(e.path().filename().string());
        std::ranges::sort(out);
        return out;
    }

    static void overwrite(const std::filesystem::path& file, const std::string& text) {
        BOOST_REQUIRE(std::filesystem::exists(file));
        std::ofstream{file, std::ios::binary} << text;
    }
    static std::string read(const std::filesystem::path& file) {
        std::ifstream in{file, std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
};

} // namespace troupe::test
