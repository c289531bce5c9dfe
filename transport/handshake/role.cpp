#include "transport/handshake/role.hpp"

namespace troupe {

proto::Role to_proto(peer_role role) {
    switch (role) {
    case peer_role::member:
        return proto::Role::MEMBER;
    case peer_role::client:
        return proto::Role::CLIENT;
    case peer_role::observer:
        return proto::Role::OBSERVER;
    }
    check_failed("known role", __FILE__, __LINE__, "every role has a schema value");
}

result<peer_role> from_proto(proto::Role role) {
    switch (role) {
    case proto::Role::MEMBER:
        return peer_role::member;
    case proto::Role::CLIENT:
        return peer_role::client;
    case proto::Role::OBSERVER:
        return peer_role::observer;
    }
    return error{errc::protocol, "a role that this build does not know"};
}

} // namespace troupe
