// One replica of a whole model as a loop can step it: what replicas that update on their own are compared with, bit by bit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/graph/weights.hpp"

namespace troupe::test {

// What all replicas of an app share. Minibatches are whole: microbatches are for pipelines.
class serial_app {
  public:
    explicit serial_app(const std::string& text);
    ~serial_app();
    serial_app(const serial_app&) = delete;
    serial_app& operator=(const serial_app&) = delete;

    const std::vector<parameter_info>& parameters() const noexcept;
    std::uint64_t minibatches_of(std::uint32_t epoch) const noexcept;

  private:
    friend class serial_replica;
    struct parts;

    const std::unique_ptr<parts> parts_;
};

class serial_replica {
  public:
    explicit serial_replica(serial_app& of);

    // An update by this minibatch of this epoch.
    void step(std::uint32_t epoch, std::uint64_t minibatch);

    // The gradient of its parameters by this minibatch, all in a row, without an update.
    std::vector<float> gradient(std::uint32_t epoch, std::uint64_t minibatch);

    // Parameters and averages, all in a row.
    std::vector<float> values() const;
    void set_values(const std::vector<float>& all);

  private:
    std::vector<tensor> backward(std::uint32_t epoch, std::uint64_t minibatch);

    serial_app::parts& of_;
    weights_ptr latest_;
};

} // namespace troupe::test
