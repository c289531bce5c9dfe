// Fuzz target: arbitrary bytes as an app file of a program of scheduled parameters.
#include "actors/scheduled/program_app.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/unit/actors_app_file/garden.capnp.h"

namespace troupe::fuzz {

namespace {

// Two programs that stand for any.
const app_kind& kind() {
    static const app_kind made = scheduled::program_app_kind(
        {{"rose", capnp::Schema::from<proto::Rose>(), "A program whose settings have defaults."},
         {"oak", capnp::Schema::from<proto::Oak>(), "A program that needs an age."}});
    return made;
}

} // namespace

bool read(std::span<const std::byte> in) {
    const auto app = scheduled::parse_program_app(text_of(in), "fuzzed.yaml", {}, kind());
    if (!app) {
        check_refusal(app.failure());
        return false;
    }
    check_refusal(app->at_setting({errc::usage, "height: too high"}));
    const std::string rendered = render_app(*app);
    const auto again = scheduled::parse_program_app(rendered, "fuzzed.yaml", {}, kind());
    TROUPE_CHECK(again.ok(), "what is rendered is an app file");
    TROUPE_CHECK(render_app(*again) == rendered, "what is rendered is the same app");
    TROUPE_CHECK(again->program() == app->program(), "it names the same program");
    return true;
}

std::vector<std::string> sound_inputs() {
    const std::string head = "troupe: 1\ndata: {matrix: {features: x.npy, targets: y.npy}}\n";
    return {
        head + "program: rose\n",
        head + "program: {rose: {height: 0.3, thorns: false, colour: dark_red}}\n"
               "schedule: {dynamic: {window: 3, set: 64, couple: check, rho: 0.2}, workers: 2}\n"
               "stop: {gap: 1e-9, sweeps: 100, phases: 7, seconds: 0.5}\n",
        "troupe: 1\n"
        "data: {idx: {images: a.gz, labels: b}, scale: unit_norm}\n"
        "program: {oak: {age: 7, photo: p.png, rings: [1, 2.5, 1e-3], birds: {owls: 3}}}\n"
        "schedule: {cyclic: {set: 4}, shards: 3}\n"
        "result: {directory: out}\n"
        "checkpoint: {directory: saved, every_seconds: 5, keep: 1}\n"
        "seed: 18446744073709551615\n",
        "troupe: 1\n"
        "data: {documents: {dictionary: d.dict.dz, stop_words: english, stop_words_file: s, stem: "
        "porter, length_min: 3, documents_min: 5, documents_max_share: 0.5, words_max: 10000}}\n"
        "program: rose\n",
        "troupe: 1\ndata: {documents: {counts: c, vocabulary: v}}\nprogram: rose\n",
        "troupe: 1\ndata: {ratings: {train: u1.base, test: u1.test}}\nprogram: rose\n",
    };
}

} // namespace troupe::fuzz
