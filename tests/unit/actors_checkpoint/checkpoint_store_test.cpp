#include <boost/test/unit_test.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#include "actors/checkpoint/checkpoint_store.hpp"

using namespace troupe;
namespace fs = std::filesystem;

namespace {

const std::vector<float> weight = {1, 2, 3, 4, 5, 6};
const std::vector<float> bias = {7, 8};
const std::vector<float> speed = {0.5f, 0.25f, 0, 0, 0, -1};
const std::vector<float> bias_speed = {-2, 2};
const std::vector<std::string_view> velocity{"momentum_buffer"};

named_tensor tensor_of(const std::string& name, const tensor_shape& shape,
                       std::span<const float> values) {
    return {name, data_type::float32, shape, std::as_bytes(values)};
}

// Layer `l` as a stage of its own: a weight (2, 3) and a bias (2), numbers shifted by nothing.
stage_tensors stage_of(std::size_t l, bool with_momentum) {
    const std::string name = "layers." + std::to_string(l);
    stage_tensors stage{
        {l, 1},
        {tensor_of(name + ".weight", {2, 3}, weight), tensor_of(name + ".bias", {2}, bias)}};
    if (with_momentum) {
        stage.tensors.push_back(tensor_of("momentum_buffer." + name + ".weight", {2, 3}, speed));
        stage.tensors.push_back(tensor_of("momentum_buffer." + name + ".bias", {2}, bias_speed));
    }
    return stage;
}

checkpoint_progress progress_of(std::uint32_t epochs, std::uint64_t minibatches) {
    return {epochs,
            minibatches,
            minibatches - 100 * epochs,
            weight_version{minibatches},
            42,
            8,
            800,
            "input: [3]\nlayers:\n  - linear: {out: 2}\n"};
}

struct store_fixture {
    fs::path folder;

    store_fixture() {
        std::string pattern = (fs::temp_directory_path() / "troupe-checkpoint-XXXXXX").string();
        BOOST_REQUIRE(mkdtemp(pattern.data()) != nullptr);
        folder = pattern;
    }
    ~store_fixture() { fs::remove_all(folder); }

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
        return writer->commit();
    }

    std::vector<std::string> names() const {
        std::vector<std::string> out;
        for (const auto& e : fs::directory_iterator{folder})
            out.push_back(e.path().filename().string());
        std::ranges::sort(out);
        return out;
    }

    static void overwrite(const fs::path& file, const std::string& text) {
        BOOST_REQUIRE(fs::exists(file));
        std::ofstream{file, std::ios::binary} << text;
    }
    static std::string read(const fs::path& file) {
        std::ifstream in{file, std::ios::binary};
        return {std::istreambuf_iterator<char>{in}, {}};
    }
};

using strings = std::vector<std::string>;

} // namespace

BOOST_FIXTURE_TEST_SUITE(checkpoints, store_fixture)

BOOST_AUTO_TEST_CASE(a_committed_checkpoint_is_found_and_loads) {
    auto store = open();
    BOOST_TEST((!store.latest()->has_value()));
    const auto saved = save(store, progress_of(3, 300), 2);
    BOOST_REQUIRE_MESSAGE(saved.ok(), (saved.ok() ? "" : saved.failure().message()));
    BOOST_TEST(names() == strings{"epoch-0003"}, boost::test_tools::per_element());
    BOOST_TEST(fs::exists(folder / "epoch-0003/stage-1-of-2.safetensors"));

    const auto latest = store.latest();
    BOOST_REQUIRE((latest.ok() && latest->has_value()));
    const checkpoint_info& info = latest->value();
    BOOST_TEST((info.progress == progress_of(3, 300)));
    BOOST_REQUIRE(info.stages.size() == 2u);
    BOOST_TEST((info.stages[1].layers == layer_range{1, 1}));
    const auto loaded = load_checkpoint(info);
    BOOST_REQUIRE(loaded.ok());
    BOOST_TEST(loaded->find("layers.1.weight")->bytes.size() == 24u);
    BOOST_TEST(loaded->find("momentum_buffer.layers.0.bias") != nullptr);
    BOOST_TEST(loaded->find("layers.2.weight") == nullptr);
}

BOOST_AUTO_TEST_CASE(weights_load_onto_another_cut_into_stages) {
    auto store = open();
    const auto saved = save(store, progress_of(1, 100), 3);
    BOOST_REQUIRE(saved.ok());
    const auto loaded = load_checkpoint(*saved);
    BOOST_REQUIRE(loaded.ok());
    memory_pool memory{1 << 20};
    const std::vector<parameter_info> stage = {{"layers.1.weight", {2, 3}},
                                               {"layers.1.bias", {2}},
                                               {"layers.2.weight", {2, 3}},
                                               {"layers.2.bias", {2}}};
    const auto restored = loaded->restore({stage, {}, velocity}, memory);
    BOOST_REQUIRE(restored.ok());
    const weights& w = **restored;
    BOOST_TEST(w.version.value() == 100u);
    BOOST_REQUIRE(w.parameters.size() == 4u);
    BOOST_REQUIRE(w.state.size() == 4u);
    BOOST_TEST(w.parameters[2].values<float>()[5] == 6.0f);
    BOOST_TEST(w.state[2].values<float>()[5] == -1.0f);
    BOOST_TEST(w.state[3].values<float>()[0] == -2.0f);
    const auto without = loaded->restore({stage, {}, {}}, memory);
    BOOST_TEST((*without)->state.empty());
}

BOOST_AUTO_TEST_CASE(optimizer_state_that_was_not_saved_starts_at_zero) {
    auto store = open();
    const auto loaded = load_checkpoint(*save(store, progress_of(1, 100), 1, false));
    BOOST_REQUIRE(loaded.ok());
    memory_pool memory{1 << 20};
    const std::vector<parameter_info> stage = {{"layers.0.bias", {2}}};
    const auto restored = loaded->restore({stage, {}, velocity}, memory);
    BOOST_REQUIRE(restored.ok());
    BOOST_TEST((*restored)->state[0].values<float>()[1] == 0.0f);
}

BOOST_AUTO_TEST_CASE(weights_of_another_model_are_refused) {
    auto store = open();
    const auto loaded = load_checkpoint(*save(store, progress_of(1, 100), 1));
    BOOST_REQUIRE(loaded.ok());
    memory_pool memory{1 << 20};
    const std::vector<parameter_info> wider = {{"layers.0.weight", {2, 4}}};
    BOOST_TEST(loaded->restore({wider, {}, {}}, memory).failure().message() ==
               (folder / "epoch-0001").string() + ": the checkpoint's layers.0.weight is float32 "
                                                  "[2, 3], but the model wants float32 [2, 4]");
    const std::vector<parameter_info> deeper = {{"layers.9.weight", {2, 3}}};
    BOOST_TEST(loaded->restore({deeper, {}, {}}, memory)
                   .failure()
                   .message()
                   .find("has no layers.9.weight") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_the_newest_are_kept) {
    auto store = open(2);
    for (std::uint32_t epoch = 1; epoch <= 4; ++epoch)
        BOOST_REQUIRE(save(store, progress_of(epoch, epoch * 100), 1).ok());
    BOOST_TEST(names() == (strings{"epoch-0003", "epoch-0004"}), boost::test_tools::per_element());
    BOOST_TEST(store.latest()->value().progress.epochs_done == 4u);
}

BOOST_AUTO_TEST_CASE(newest_is_what_has_come_furthest_not_what_is_named_highest) {
    auto store = open(9);
    BOOST_REQUIRE(save(store, progress_of(2, 200), 1).ok());
    BOOST_REQUIRE(save(store, progress_of(1, 250), 1).ok());
    BOOST_TEST(store.latest()->value().progress.minibatches_done == 250u);
}

BOOST_AUTO_TEST_CASE(folders_that_were_made_for_nothing_are_removed) {
    const fs::path made = folder / "a/b/c";
    fs::create_directory(folder / "a");
    for (const fs::path& name : {made, made / ""})
        BOOST_TEST(checkpoint_store::open({name, 2}).ok());
    BOOST_TEST(!fs::exists(folder / "a/b"));
    BOOST_TEST(fs::exists(folder / "a"), "it was there before");
    {
        auto store = checkpoint_store::open({made, 2});
        BOOST_TEST(fs::exists(made));
        BOOST_REQUIRE(save(*store, progress_of(1, 100), 1).ok());
    }
    BOOST_TEST(fs::exists(made / "epoch-0001"));
    BOOST_TEST(checkpoint_store::open({folder / "a", 2}).ok());
    BOOST_TEST(fs::exists(folder / "a"));
}

BOOST_AUTO_TEST_CASE(the_middle_of_an_epoch_is_told_from_its_end) {
    auto store = open(9);
    BOOST_REQUIRE(save(store, progress_of(1, 100), 1).ok());
    BOOST_REQUIRE(save(store, progress_of(1, 150), 1).ok());
    BOOST_REQUIRE(save(store, progress_of(0, 7), 1).ok());
    BOOST_TEST(names() == (strings{"epoch-0000-plus-0007-minibatches", "epoch-0001",
                                   "epoch-0001-plus-0050-minibatches"}),
               boost::test_tools::per_element());
    BOOST_TEST(store.latest()->value().progress.minibatches_done == 150u);
    BOOST_TEST(list_checkpoints(folder)->size() == 3u);
}

BOOST_AUTO_TEST_CASE(one_from_the_middle_of_an_epoch_that_is_named_like_its_beginning_is_read) {
    auto store = open(9);
    const auto saved = *save(store, progress_of(1, 150), 1);
    fs::rename(saved.folder, folder / "epoch-0001"); // as they were named once
    BOOST_TEST(load_checkpoint(store.latest()->value()).ok());
    BOOST_TEST(store.latest()->value().progress.minibatches_done == 150u);
}

// As it was while all minibatches of a run were of one size.
BOOST_AUTO_TEST_CASE(a_manifest_need_not_name_the_minibatches_of_the_epoch) {
    auto store = open();
    const auto saved = *save(store, progress_of(1, 150), 1);
    std::string manifest = read(saved.folder / "manifest.json");
    const std::string line = "  \"minibatches_of_epoch\": 50,\n";
    const std::size_t at = manifest.find(line);
    BOOST_REQUIRE(at != std::string::npos);
    const auto rewrite = [&](const std::string& with) {
        std::string text = manifest;
        std::ofstream{saved.folder / "manifest.json", std::ios::binary}
            << text.replace(at, line.size(), with);
        return read_manifest(saved.folder);
    };
    BOOST_TEST(rewrite("")->progress.minibatches_of_epoch == 50u);
    BOOST_TEST(rewrite("  \"minibatches_of_epoch\": 20,\n")->progress.minibatches_of_epoch == 20u);
    BOOST_TEST(rewrite("  \"minibatches_of_epoch\": 151,\n")
                   .failure()
                   .message()
                   .find("more than minibatches_done") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_the_same_moment_takes_the_olds_place) {
    auto store = open();
    BOOST_REQUIRE(save(store, progress_of(1, 100), 2).ok());
    BOOST_REQUIRE(save(store, progress_of(1, 100), 1).ok());
    BOOST_TEST(names() == strings{"epoch-0001"}, boost::test_tools::per_element());
    BOOST_TEST(!fs::exists(folder / "epoch-0001/stage-0-of-2.safetensors"));
}

BOOST_AUTO_TEST_CASE(a_writer_that_does_not_commit_leaves_nothing) {
    auto store = open();
    {
        auto writer = store.begin(progress_of(1, 100), 2);
        BOOST_REQUIRE(writer.ok());
        BOOST_REQUIRE(writer->write_stage(stage_index{0}, stage_of(0, true)).ok());
        BOOST_TEST(names().size() == 1u); // hidden
        BOOST_TEST((!store.latest()->has_value()));
        const auto incomplete = writer->commit();
        BOOST_TEST(incomplete.failure().message().find("not every stage has given its weights") !=
                   std::string::npos);
    }
    BOOST_TEST(names().empty());
}

BOOST_AUTO_TEST_CASE(stages_with_gaps_are_not_committed) {
    auto store = open();
    auto writer = store.begin(progress_of(1, 100), 2);
    BOOST_REQUIRE(writer->write_stage(stage_index{0}, stage_of(0, false)).ok());
    BOOST_REQUIRE(writer->write_stage(stage_index{1}, stage_of(2, false)).ok());
    BOOST_TEST(writer->commit().failure().message().find("gaps or overlaps") != std::string::npos);
}

// What a kill in the middle of a save or of a deletion leaves is gone after the next opening, and never taken for a
// checkpoint.
BOOST_AUTO_TEST_CASE(leftovers_of_a_killed_process_are_removed) {
    fs::create_directories(folder / ".partial-epoch-0002/x");
    fs::create_directories(folder / ".deleted-epoch-0001");
    fs::create_directories(folder / "epoch-notes");
    std::ofstream{folder / "notes.txt"} << "mine";
    auto store = open();
    BOOST_TEST(names() == (strings{"epoch-notes", "notes.txt"}), boost::test_tools::per_element());
    BOOST_TEST((!store.latest()->has_value()));
}

BOOST_AUTO_TEST_CASE(a_folder_belongs_to_one_run_at_a_time) {
    {
        auto store = open();
        const auto second = checkpoint_store::open({folder, 2});
        BOOST_REQUIRE(!second.ok());
        BOOST_TEST((second.failure().code() == errc::usage));
        BOOST_TEST(second.failure().message().find("another run saves its checkpoints here") !=
                   std::string::npos);
    }
    open();
}

// The limit on file sizes fails a write in the middle, as a full disk does.
BOOST_AUTO_TEST_CASE(a_save_that_fails_leaves_the_last_checkpoint_and_nothing_else) {
    auto store = open();
    BOOST_REQUIRE(save(store, progress_of(1, 100), 2).ok());
    const std::string before = read(folder / "epoch-0001/manifest.json");
    rlimit old{};
    getrlimit(RLIMIT_FSIZE, &old);
    // In the header, in the elements, in the manifest of a checkpoint with a longer model.
    const rlim_t whole_stage = fs::file_size(folder / "epoch-0001/stage-0-of-2.safetensors");
    auto next = progress_of(2, 200);
    next.model.resize(2 * whole_stage, ' ');
    for (const rlim_t bytes : {rlim_t{0}, rlim_t{100}, whole_stage - 1, whole_stage}) {
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit tight{bytes, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
        const auto saved = save(store, next, 2);
        setrlimit(RLIMIT_FSIZE, &old);
        std::signal(SIGXFSZ, handler);
        BOOST_REQUIRE_MESSAGE(!saved.ok(), bytes);
        BOOST_TEST((saved.failure().code() == errc::io));
        const bool in_manifest =
            saved.failure().message().find("manifest.json") != std::string::npos;
        BOOST_TEST(in_manifest == (bytes == whole_stage));
        BOOST_TEST(saved.failure().message().find(
                       "cannot be written: File too large; free some space or choose another "
                       "checkpoint.directory") != std::string::npos,
                   saved.failure().message());
        BOOST_TEST(names() == strings{"epoch-0001"}, boost::test_tools::per_element());
        BOOST_TEST(read(folder / "epoch-0001/manifest.json") == before);
        BOOST_TEST(load_checkpoint(store.latest()->value()).ok());
    }
    BOOST_TEST(save(store, progress_of(2, 200), 2).ok());
}

BOOST_AUTO_TEST_CASE(damaged_tensors_are_refused) {
    auto store = open();
    const auto info = *save(store, progress_of(1, 100), 1);
    const fs::path file = info.folder / "stage-0-of-1.safetensors";
    std::string bytes = read(file);
    bytes.back() ^= 1;
    overwrite(file, bytes);
    BOOST_TEST(load_checkpoint(info).failure().message().find(file.string() + ": damaged") == 0u);
    overwrite(file, bytes + "x");
    BOOST_TEST(load_checkpoint(info).failure().message().find(file.string() + ": larger than") ==
               0u);
    overwrite(file, bytes.substr(1));
    BOOST_TEST(load_checkpoint(info).failure().message().find(file.string() + ": damaged") == 0u);
    fs::remove(file);
    BOOST_TEST(load_checkpoint(info).failure().message() ==
               file.string() + ": missing, though the manifest names it");
}

BOOST_AUTO_TEST_CASE(foreign_manifests_are_refused) {
    auto store = open();
    const auto info = *save(store, progress_of(1, 100), 1);
    const fs::path file = info.folder / "manifest.json";
    const std::string good = read(file);
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        BOOST_REQUIRE_MESSAGE(text.find(from) != std::string::npos, from);
        overwrite(file, text.replace(text.find(from), from.size(), to));
        const auto latest = store.latest();
        BOOST_REQUIRE_MESSAGE(!latest.ok(), to);
        BOOST_TEST(latest.failure().message().starts_with(file.string() +
                                                          ": not a usable checkpoint manifest: "));
        BOOST_TEST(latest.failure().message().ends_with("; delete or mend this checkpoint"));
    };
    with(good, "");
    with(good, "[]");
    with(good, std::string(100000, '['));
    with(good, good.substr(0, good.size() / 2));
    with("troupe-checkpoint", "other");
    with("\"format_version\": 1", "\"format_version\": 2");
    with("\"epochs_done\": 1", "\"epochs_done\": -1");
    with("\"epochs_done\": 1", "\"epochs_done\": 4294967296");
    with("\"seed\": 42", "\"seed\": \"42\"");
    with("linear", "conv2d");
    with("stage-0-of-1.safetensors", "../../secret.safetensors");
    with("\"first_layer\": 0", "\"first_layer\": 1");
    with("\"layers\": 1", "\"layers\": 0");
    with("\"sha256\": \"", "\"sha256\": \"G");
    with("\"stages\"", "\"stagse\"");
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_made_is_named) {
    const auto opened = checkpoint_store::open({"/proc/nothing/here", 2});
    BOOST_REQUIRE(!opened.ok());
    BOOST_TEST((opened.failure().code() == errc::io));
    BOOST_TEST(opened.failure().message().find("/proc/nothing/here: cannot be made: ") == 0u);
    BOOST_TEST(list_checkpoints("/nonexistent")->empty());
}

BOOST_AUTO_TEST_SUITE_END()
