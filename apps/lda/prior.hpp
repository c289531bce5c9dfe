// The priors of a topic model: symmetric Dirichlet distributions.
#pragma once

namespace troupe::lda {

struct prior {
    double alpha = 0.1; // of a document's topics
    double beta = 0.01; // of a topic's words
};

} // namespace troupe::lda
