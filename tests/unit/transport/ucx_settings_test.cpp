#include "transport/ucx/ucx_settings.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

// "TLS=rc,dc,ud RNDV_SCHEME=get_zcopy"
std::string told(ucx_transport over) {
    std::string all;
    for (const ucx_setting& s : settings_for(over))
        all += (all.empty() ? "" : " ") + s.name +
               (s.later_name.empty() ? "" : "|" + s.later_name) + "=" + s.value;
    return all;
}

} // namespace

BOOST_AUTO_TEST_SUITE(settings_of_ucx)

BOOST_AUTO_TEST_CASE(ucx_is_told_of_one_transport_alone) {
    BOOST_TEST(
        told(ucx_transport::shared_memory) ==
        "TLS=posix,sysv,cma,self MM_ERROR_HANDLING=y MEMORY_INVALIDATE|CMA_MEMORY_INVALIDATE=y "
        "RNDV_SCHEME=get_zcopy");
    BOOST_TEST(told(ucx_transport::rdma) == "TLS=rc,dc,ud RNDV_SCHEME=get_zcopy");
}

BOOST_AUTO_TEST_CASE(a_link_is_described_by_what_ucx_has_set_up) {
    // As UCX 1.13 prints it, and 1.22.
    const auto printed = [](const std::string& lanes) {
        return "#\n# UCP endpoint a\n#\n#               peer: <no debug data>\n" + lanes +
               "#\n#                tag_send: 0..<egr/short>..8184..<egr/bcopy>..(inf)\n#\n";
    };
    const auto lane = [](int number, const std::string& resource) {
        return "#                 lane[" + std::to_string(number) + "]:  3:" + resource +
               " md[1]    -> addr[0].md[1]/ib/sysdev[255] rma_bw#0 am am_bw#0 wireup\n";
    };
    BOOST_TEST(described_link(printed(lane(0, "posix/memory.0") + lane(1, "cma/memory.0"))) ==
               "shared memory");
    BOOST_TEST(described_link(printed(lane(0, "rc_mlx5/mlx5_0:1.0"))) ==
               "rdma (rc_mlx5, mlx5_0:1)");
    BOOST_TEST(described_link(printed(lane(0, "rc_verbs/rxe0:1.0") + lane(1, "rc_verbs/rxe1:1.0") +
                                      lane(2, "ud_verbs/rxe0:1.0"))) ==
               "rdma (rc_verbs, ud_verbs, rxe0:1, rxe1:1)");
    BOOST_TEST(described_link(printed(lane(0, "rc_mlx5/mlx5_0:1.0") + lane(1, "self/memory.0"))) ==
               "rdma (rc_mlx5, mlx5_0:1)");
    for (const char* odd : {"", "lane[", "lane[0]: cm rdmacm", "lane[0]:  3:tcp", "/lane[0].:"})
        BOOST_TEST(described_link(odd) == "unknown");
}

BOOST_AUTO_TEST_SUITE_END()
