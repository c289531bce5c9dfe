// One side of the handshake between nodes, over standard input and output, for noise_handshakes.py to be the other:
//
//     handshake_bytes connector|acceptor KEY
//
// Then sends back every sealed message that comes, sealed, with its bytes in reverse order.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "transport/handshake/handshake.hpp"

using namespace troupe;
using bytes = std::vector<std::byte>;

namespace {

bool read_exactly(bytes& into, std::size_t size) {
    into.resize(size);
    for (std::size_t have = 0; have < size;) {
        const ssize_t got = ::read(STDIN_FILENO, into.data() + have, size - have);
        if (got <= 0)
            return false;
        have += static_cast<std::size_t>(got);
    }
    return true;
}

void say(std::span<const std::byte> what) {
    std::fwrite(what.data(), 1, what.size(), stdout);
    std::fflush(stdout);
}

int refused(const error& why) {
    std::fprintf(stderr, "%s\n", why.message().c_str());
    return 1;
}

} // namespace

int main(int count, char** arguments) {
    if (count != 3)
        return 2;
    const bool connects = arguments[1] == std::string{"connector"};
    handshake ours{connects ? handshake_side::connector : handshake_side::acceptor, arguments[2],
                   draw_token()};
    say(ours.begin());
    bytes in;
    while (!ours.done()) {
        if (!read_exactly(in, ours.wanted()))
            return 3;
        const auto answer = ours.advance(in);
        if (!answer) {
            say(ours.last_words());
            return refused(answer.failure());
        }
        say(*answer);
    }
    sealed_messages messages{ours.secrets()};
    while (read_exactly(in, sealed_messages::head_bytes)) {
        const auto size =
            sealed_messages::sealed_bytes(std::span{in}.first<sealed_messages::head_bytes>());
        if (!size)
            return refused(size.failure());
        if (!read_exactly(in, *size))
            return 3;
        auto text = messages.open(in);
        if (!text)
            return refused(text.failure());
        std::ranges::reverse(*text);
        say(messages.seal(*text));
    }
    return 0;
}
