// What the parts of the module offer it.
#pragma once

#include "../arrays.hpp"

namespace opelda::text {

void add_words(nb::module_& m);    // words.cpp: texts to codes of words
void add_numbers(nb::module_& m);  // numbers.cpp: files of whole numbers to arrays
void add_merging(nb::module_& m);  // merging.cpp: counts moved to columns that they share

}  // namespace opelda::text
