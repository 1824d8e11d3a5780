// Functions that the parts of the module register.
#pragma once

#include "../arrays.hpp"

namespace opelda::text {

void add_words(nb::module_& m);    // words.cpp: texts to word codes
void add_numbers(nb::module_& m);  // numbers.cpp: files of integers to arrays
void add_merging(nb::module_& m);  // merging.cpp: counts mapped to shared columns

}  // namespace opelda::text
