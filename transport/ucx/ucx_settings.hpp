// Settings of UCX for each transport that it is used for, and its description of a connection. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

enum class ucx_transport : std::uint8_t { shared_memory, rdma };

// A setting of UCX.
struct ucx_setting {
    std::string name;
    std::string value;
    std::string later_name{}; // used if UCX does not know `name`

    friend bool operator==(const ucx_setting&, const ucx_setting&) = default;
};

// The settings of a UCX context that has this transport only.
std::vector<ucx_setting> settings_for(ucx_transport over);

// For people: "shared memory", "rdma (rc_mlx5, mlx5_0:1)", from ucp_ep_print_info's text on a connection; "unknown"
// if that names none.
std::string described_link(std::string_view printed);

} // namespace troupe
