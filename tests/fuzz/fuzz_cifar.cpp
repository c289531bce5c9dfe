// Fuzz target: arbitrary bytes as a file of CIFAR-10 and of CIFAR-100, plain or gzip.
#include <capnp/message.h>

#include "actors/data/samples/cifar_reader.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/made_files.hpp"

namespace troupe::fuzz {

namespace {

bool takes(const std::string& name, unsigned classes) {
    capnp::MallocMessageBuilder message;
    auto cifar = message.initRoot<proto::CifarData>();
    cifar.setClasses(classes);
    cifar.initTrain(2).set(0, name);
    cifar.getTrain().set(1, name);
    cifar.initTest(1).set(0, name);
    const auto sets = read_cifar_data(cifar.asReader(), {3, 32, 32});
    if (!sets) {
        check_refusal(sets.failure());
        return false;
    }
    TROUPE_CHECK(sets->train.size() == 2 * sets->test.size(), "all records are there");
    return true;
}

} // namespace

bool read(std::span<const std::byte> in) {
    static memory_file file;
    const std::string name = file.with(in);
    const bool of_10 = takes(name, 10);
    return takes(name, 100) || of_10;
}

std::vector<std::string> sound_inputs() {
    const test::data_files files;
    const std::string ten = test::cifar_record("\x01", 3) + test::cifar_record("\x09", 200);
    const std::string hundred = test::cifar_record("\x05\x63", 1);
    return {ten, hundred, files.read(files.gzip("ten.gz", ten)),
            files.read(files.gzip("hundred.gz", hundred))};
}

} // namespace troupe::fuzz
