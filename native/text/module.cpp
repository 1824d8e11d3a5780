// The Python module that reading documents uses: words out of texts, numbers out of files.
#include "text.hpp"

NB_MODULE(_text, m) {
    opelda::text::add_words(m);
    opelda::text::add_numbers(m);
    opelda::text::add_merging(m);
}
