// Reader of dictionaries of the dictd server, as the packages dict-* of Debian have them: texts one after the other, plain
// or compressed by dictzip (gzip), and an index with lines HEADWORD <tab> OFFSET <tab> LENGTH, whose numbers count bytes of
// the texts and have the digits A-Z a-z 0-9 + / for 0 to 63. Entries of headwords that begin with 00-database- or
// 00database describe the dictionary and are passed over.
//
// Errors: as in line_reader.hpp, of the index; those of input_file.hpp of the texts.
// Source: dictd(8), section "Database format"; dictzip(1).
#pragma once

#include "actors/data/sparse/documents.hpp"

namespace troupe {

// Name of the index beside the texts, NAME.dict.dz or NAME.dict; an error if it is called otherwise.
result<std::string> index_of_dictionary(const std::string& texts);

// Documents in the order of the index, called by the first headword of each.
result<documents> read_dictionary(const std::string& texts, const std::string& index,
                                  const word_rules& rules, const vocabulary_bounds& bounds);

} // namespace troupe
