// The Python module for reading documents: tokenisation of texts, numbers of files.
#include "text.hpp"

NB_MODULE(_text, m) {
    opelda::text::add_words(m);
    opelda::text::add_numbers(m);
    opelda::text::add_merging(m);
}
