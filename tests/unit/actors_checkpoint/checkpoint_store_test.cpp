#include <csignal>

#include <sys/resource.h>
#include <unistd.h>

#include "tests/unit/actors_checkpoint/store_fixture.hpp"

using namespace troupe;
using namespace troupe::test;
namespace fs = std::filesystem;

namespace {

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
    for (std::size_t l = 0; l < 2; ++l)
        BOOST_TEST((info.stages[l].updates == updates_of(l)));
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
    BOOST_TEST((w.updates == std::vector<std::uint64_t>{21, 22, 30, 30}));
    const auto without = loaded->restore({stage, {}, {}}, memory);
    BOOST_TEST((*without)->state.empty());
    BOOST_TEST(((*without)->updates == w.updates));
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
    BOOST_TEST((*restored)->updates[0] == 0u); // of that state
    BOOST_TEST((*loaded->restore({stage, {}, {}}, memory))->updates[0] == 10u);
}

// Of parameters with several kinds of state the count is zero of those alone that lack one.
BOOST_AUTO_TEST_CASE(a_count_is_that_of_the_state_of_its_parameter) {
    auto store = open();
    auto writer = store.begin(progress_of(1, 100), 1);
    stage_tensors stage = stage_of(0, true);
    stage.tensors.push_back(tensor_of("other.layers.0.weight", {2, 3}, speed));
    BOOST_REQUIRE(writer->write_stage(stage_index{0}, stage).ok());
    const auto loaded = load_checkpoint(*writer->commit());
    memory_pool memory{1 << 20};
    const std::vector<parameter_info> parameters = {{"layers.0.weight", {2, 3}},
                                                    {"layers.0.bias", {2}}};
    const std::vector<std::string_view> kinds{"momentum_buffer", "other"};
    const auto restored = loaded->restore({parameters, {}, kinds}, memory);
    BOOST_REQUIRE(restored.ok());
    BOOST_TEST(((*restored)->updates == std::vector<std::uint64_t>{10, 0}));
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

BOOST_AUTO_TEST_CASE(what_interrupted_saves_left_does_not_count_among_those_that_are_kept) {
    auto store = open(2);
    for (std::uint32_t epoch = 1; epoch <= 2; ++epoch)
        BOOST_REQUIRE(save(store, progress_of(epoch, epoch * 100), 1).ok());
    fs::create_directories(folder / ".partial-epoch-0008");
    fs::create_directories(folder / ".deleted-epoch-0009");
    {
        auto writer = store.begin(progress_of(3, 300), 2);
        BOOST_REQUIRE(writer->write_stage(stage_index{0}, stage_of(0, true)).ok());
        BOOST_TEST(!writer->commit().ok());
    }
    BOOST_REQUIRE(save(store, progress_of(4, 400), 1).ok());
    BOOST_TEST(names() == (strings{".deleted-epoch-0009", ".partial-epoch-0008", "epoch-0002",
                                   "epoch-0004"}),
               boost::test_tools::per_element());
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
                       "cannot be written: File too large; raise the limit on the size of files") !=
                       std::string::npos,
                   saved.failure().message());
        BOOST_TEST(names() == strings{"epoch-0001"}, boost::test_tools::per_element());
        BOOST_TEST(read(folder / "epoch-0001/manifest.json") == before);
        BOOST_TEST(load_checkpoint(store.latest()->value()).ok());
    }
    BOOST_TEST(save(store, progress_of(2, 200), 2).ok());
}

// As a shell's ulimit -n, or too many files elsewhere in the process, make it.
BOOST_AUTO_TEST_CASE(a_save_that_may_open_no_file_says_so_and_the_next_one_may) {
    auto store = open();
    BOOST_REQUIRE(save(store, progress_of(1, 100), 2).ok());
    rlimit old{};
    getrlimit(RLIMIT_NOFILE, &old);
    const rlimit none{0, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    const auto refused = save(store, progress_of(2, 200), 2);
    setrlimit(RLIMIT_NOFILE, &old);
    BOOST_REQUIRE(!refused.ok());
    BOOST_TEST((refused.failure().code() == errc::io));
    BOOST_TEST(refused.failure().message().find("raise the limit on open files (ulimit -n)") !=
                   std::string::npos,
               refused.failure().message());
    BOOST_TEST(names() == strings{"epoch-0001"}, boost::test_tools::per_element());
    BOOST_TEST(save(store, progress_of(2, 200), 2).ok());
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_gone_is_told_and_used_again_once_it_is_there) {
    auto store = checkpoint_store::open({folder / "saved", 2}).value();
    BOOST_REQUIRE(save(store, progress_of(1, 100), 2).ok());
    fs::rename(folder / "saved", folder / "elsewhere");
    for (const bool is_file : {false, true}) {
        if (is_file)
            std::ofstream{folder / "saved"} << "a file, where the folder was";
        const auto refused = save(store, progress_of(2, 200), 2);
        BOOST_REQUIRE(!refused.ok());
        BOOST_TEST((refused.failure().code() == errc::io));
        BOOST_TEST(refused.failure().message().find(
                       "saved: the folder for checkpoints is gone; ") != std::string::npos,
                   refused.failure().message());
    }
    fs::remove(folder / "saved");
    fs::create_symlink(folder / "elsewhere", folder / "saved");
    BOOST_REQUIRE(save(store, progress_of(2, 200), 2).ok());
    BOOST_TEST(fs::exists(folder / "elsewhere/epoch-0002/manifest.json"));
    const auto second = checkpoint_store::open({folder / "elsewhere", 2});
    BOOST_REQUIRE(!second.ok());
    BOOST_TEST((second.failure().code() == errc::usage));
    { const auto ended = std::move(store); }
    BOOST_TEST(
        fs::is_symlink(folder / "saved")); // the user's, though the store had made the folder
}

BOOST_AUTO_TEST_CASE(a_folder_that_another_run_has_meanwhile_is_left_to_it) {
    auto store = checkpoint_store::open({folder / "saved", 2}).value();
    BOOST_REQUIRE(save(store, progress_of(1, 100), 2).ok());
    fs::rename(folder / "saved", folder / "elsewhere");
    {
        auto other = checkpoint_store::open({folder / "saved", 2}).value();
        BOOST_REQUIRE(save(other, progress_of(7, 700), 2).ok());
        const auto refused = save(store, progress_of(2, 200), 2);
        BOOST_REQUIRE(!refused.ok());
        BOOST_TEST((refused.failure().code() == errc::io)); // it may be tried again
        BOOST_TEST(refused.failure().message().find("another run saves its checkpoints here") !=
                   std::string::npos);
    }
    BOOST_TEST(save(store, progress_of(2, 200), 2).ok());
}

// Such as one on a file system that was read-only for a while, so that nothing could be removed either.
BOOST_AUTO_TEST_CASE(what_a_failed_save_could_not_remove_does_not_fail_the_next_one) {
    auto store = open();
    fs::create_directories(folder / ".partial-epoch-0001/stage-0-of-2.safetensors");
    BOOST_TEST(save(store, progress_of(1, 100), 2).ok());
    BOOST_TEST(names() == strings{"epoch-0001"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_saved_though_an_older_one_cannot_be_deleted) {
    auto store = open(1);
    BOOST_REQUIRE(save(store, progress_of(1, 100), 1).ok());
    fs::create_directories(folder / ".deleted-epoch-0001/in the way");
    auto writer = store.begin(progress_of(2, 200), 1).value();
    BOOST_REQUIRE(writer.write_stage(stage_index{0}, stage_of(0, true)).ok());
    BOOST_TEST(writer.commit().ok());
    const auto deleted = store.delete_older();
    BOOST_REQUIRE(!deleted.ok());
    BOOST_TEST(deleted.failure().message().find("epoch-0001: cannot be deleted: ") !=
               std::string::npos);
    BOOST_TEST(store.latest()->value().progress.epochs_done == 2u);
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

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_made_is_named) {
    const auto opened = checkpoint_store::open({"/proc/nothing/here", 2});
    BOOST_REQUIRE(!opened.ok());
    BOOST_TEST((opened.failure().code() == errc::io));
    BOOST_TEST(opened.failure().message().find("/proc/nothing/here: cannot be made: ") == 0u);
    BOOST_TEST(list_checkpoints("/nonexistent")->empty());
}

BOOST_AUTO_TEST_SUITE_END()
