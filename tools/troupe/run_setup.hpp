// What `run` and `plan` need before anything trains: samples, checkpoints, nodes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "actors/checkpoint/checkpoint_store.hpp"
#include "actors/data/dataset.hpp"
#include "actors/plan/app_file.hpp"
#include "actors/trainer/trainer.hpp"
#include "tools/troupe/child_nodes.hpp"
#include "tools/troupe/device_choice.hpp"
#include "tools/troupe/node_host.hpp"

namespace troupe::cli {

// The app's samples, with labels that fit its model. Blocks on files. Errors and notes say where in the app file the wrong
// one is named.
result<std::shared_ptr<const data_sets>> load_samples(const app_definition& definition);

// The folder that the run saves into, and what it goes on from.
struct checkpoints {
    std::shared_ptr<checkpoint_store> store;
    std::shared_ptr<const loaded_checkpoint> resume;
};

// Nothing if the app saves nothing. errc::usage if `resume` and what is in the folder do not fit.
result<checkpoints> open_checkpoints(proto::App::Reader app, const data_sets& data, bool resume);

// The nodes of a run, whoever started them.
struct run_nodes {
    std::unique_ptr<child_nodes> children; // end last
    std::unique_ptr<node_host> host;
    std::vector<plan_device> devices; // not empty
    std::vector<std::string> others;  // runs that use them too
};

// The devices that `run --nodes` would have, and those of `run --devices`, in a run's order; nothing is started.
std::vector<plan_device> devices_of_nodes(std::uint32_t nodes, std::uint64_t memory_bytes);
std::vector<plan_device> devices_of_process(const device_choice& chosen);

// Starts or joins what the options ask for, and this process as a client among them.
result<run_nodes> bring_together(const run_options& options, proto::App::Reader app);

// What a command notes before its result: at once on standard error, or, with --json, as a list of its output.
class note_list {
  public:
    explicit note_list(bool is_json) : is_json_{is_json} {}
    void add(const std::vector<std::string>& sentences);
    const std::vector<std::string>& kept() const noexcept { return kept_; } // with --json

  private:
    bool is_json_;
    std::vector<std::string> kept_;
};

// What else a user may do where the memory of a device does not suffice: the option that bounds it. Of `troupe node`, where
// a cluster's nodes have been started already.
memory_advice advice_on_memory(const run_options& options);

// Other runs on the same devices, devices on the same cores, and devices that the app leaves idle: of this process, or of so
// many `children` with one each.
std::vector<std::string> notes_on_sharing(const run_nodes& nodes, std::uint32_t children,
                                          proto::App::Reader app);

// A precision that does nothing, or costs time, on the processors of this machine among these devices.
std::vector<std::string> notes_on_precision(std::span<const plan_device> devices,
                                            proto::App::Reader app);

} // namespace troupe::cli
