// Converts texts to word codes, and codes to rows of counts.
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "arrow_texts.hpp"
#include "rows.hpp"
#include "scan.hpp"
#include "text.hpp"

namespace opelda::text {
namespace {

using Codes = nb::ndarray<nb::numpy, int32_t, nb::ndim<1>>;

// Pass a vector to Python as an array, without copying.
template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> handed_over(std::vector<T>&& values) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    T* data = kept->data();
    const size_t size = kept->size();
    nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    kept.release();
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner);
}

// A table owned by Python: a lock serialises calls that add words while the interpreter is
// released. A thread that holds the lock neither waits for the interpreter nor runs other Python
// code.
struct Words {
    WordTable table;
    mutable std::shared_mutex busy;
};

std::string_view utf8(nb::handle word) {
    Py_ssize_t size = 0;
    const char* letters = PyUnicode_AsUTF8AndSize(word.ptr(), &size);
    if (!letters) throw nb::python_error();
    return {letters, size_t(size)};
}

Codes add(Words& words, nb::list given) {
    std::vector<int32_t> codes;
    codes.reserve(given.size());
    {
        std::lock_guard lock(words.busy);
        for (nb::handle word : given) codes.push_back(words.table.code(utf8(word)));
    }
    return handed_over(std::move(codes));
}

// Read one table while another is written.
struct Both {
    std::shared_lock<std::shared_mutex> read;
    std::unique_lock<std::shared_mutex> written;
    Both(const Words& from, Words& to)
        : read(from.busy, std::defer_lock), written(to.busy, std::defer_lock) {
        std::lock(read, written);
    }
};

Codes absorb(Words& words, const Words& others) {
    if (&words == &others) throw nb::value_error("A table cannot absorb itself.");
    std::vector<int32_t> codes;
    {
        nb::gil_scoped_release release;
        Both lock(others, words);
        codes.reserve(size_t(others.table.size()));
        Lookup lookup(words.table, codes);
        for (int64_t i = 0; i < others.table.size(); ++i) {
            const std::string_view word = others.table.word(i);
            lookup.add(word.data(), word.size(), word.size());
        }
        lookup.flush();
    }
    return handed_over(std::move(codes));
}

nb::list listed(const Words& words, int64_t first) {
    nb::list list;
    std::shared_lock lock(words.busy);
    for (int64_t i = std::max<int64_t>(first, 0); i < words.table.size(); ++i) {
        const std::string_view word = words.table.word(i);
        PyObject* text = PyUnicode_DecodeUTF8(word.data(), Py_ssize_t(word.size()), "strict");
        if (!text) throw nb::python_error();
        list.append(nb::steal(text));
    }
    return list;
}

Column column(nb::handle capsule) {
    auto* stream =
        static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (!stream) throw nb::python_error();
    return Column(stream);
}

nb::tuple scan(Words& words, nb::handle stream, In<uint8_t, 1> classes, int64_t least,
               bool need_letter, bool pairs) {
    if (int64_t(classes.shape(0)) != kCodePoints)
        throw nb::value_error("classes must have a number for each of the 0x110000 code points.");
    if (least < 1) throw nb::value_error("least must be 1 or more.");
    const Column texts = column(stream);
    Tokens tokens;
    {
        nb::gil_scoped_release release;
        std::lock_guard lock(words.busy);
        Scanner scanner(words.table, {classes.data(), size_t(least), need_letter, pairs}, tokens);
        texts.each([&](std::string_view text) { scanner.scan(text); });
    }
    return nb::make_tuple(handed_over(std::move(tokens.codes)),
                          handed_over(std::move(tokens.ends)));
}

// Counts of a few texts' words in the table, by the column of each code; -1 drops the code.
nb::tuple count_known(const Words& words, nb::list texts, In<int32_t, 1> columns,
                      In<uint8_t, 1> classes, int64_t least, bool need_letter, bool pairs) {
    if (int64_t(classes.shape(0)) != kCodePoints)
        throw nb::value_error("classes must have a number for each of the 0x110000 code points.");
    if (least < 1) throw nb::value_error("least must be 1 or more.");
    std::vector<std::string_view> given;  // the list keeps the strings alive
    given.reserve(texts.size());
    for (nb::handle text : texts) given.push_back(utf8(text));
    Rows rows;
    bool good = true;
    {
        nb::gil_scoped_release release;
        std::shared_lock lock(words.busy);
        good = int64_t(columns.shape(0)) == words.table.size();
        if (good) {
            Tokens tokens;
            Scanner scanner(words.table, {classes.data(), size_t(least), need_letter, pairs},
                            tokens);
            for (const std::string_view text : given) scanner.scan(text);
            rows = count_few(tokens.codes, tokens.ends, columns.data());
        }
    }
    if (!good) throw nb::value_error("Every code must have a column.");
    return nb::make_tuple(handed_over(std::move(rows.ends)), handed_over(std::move(rows.words)),
                          handed_over(std::move(rows.counts)));
}

// Every string of the column is a word.
Codes code(Words& words, nb::handle stream) {
    const Column texts = column(stream);
    std::vector<int32_t> codes;
    {
        nb::gil_scoped_release release;
        std::lock_guard lock(words.busy);
        Lookup lookup(words.table, codes);
        texts.each(
            [&](std::string_view word) { lookup.add(word.data(), word.size(), word.size()); });
        lookup.flush();
    }
    return handed_over(std::move(codes));
}

// Throws unless the ends ascend from 0 to the number of codes, each code has a new name, and names
// are -1 or below n_words.
void check(const In<int32_t, 1>& codes, const In<int64_t, 1>& ends, const In<int32_t, 1>& renamed,
           int64_t n_words) {
    const auto n_ends = int64_t(ends.shape(0)), n_codes = int64_t(codes.shape(0)),
               n_names = int64_t(renamed.shape(0));
    bool good = n_ends > 0 && ends.data()[0] == 0 && ends.data()[n_ends - 1] == n_codes;
    for (int64_t i = 1; good && i < n_ends; ++i) good = ends.data()[i - 1] <= ends.data()[i];
    if (!good) throw nb::value_error("ends must rise from 0 to the number of codes.");
    uint32_t highest = 0;
    for (int64_t i = 0; i < n_codes; ++i) highest = std::max(highest, uint32_t(codes.data()[i]));
    if (n_codes && int64_t(highest) >= n_names)
        throw nb::value_error("Every code must have a new name.");
    for (int64_t i = 0; i < n_names; ++i)
        if (renamed.data()[i] < -1 || renamed.data()[i] >= n_words)
            throw nb::value_error("New names must be -1 or numbers of words.");
}

nb::tuple pairs(const Words& words, In<int32_t, 1> codes, In<int64_t, 1> ends,
                In<int32_t, 1> renamed, bool singles, Words& into) {
    if (&words == &into) throw nb::value_error("The pairs need a table of their own.");
    Tokens tokens;
    {
        nb::gil_scoped_release release;
        Both lock(words, into);
        check(codes, ends, renamed, words.table.size());
        pair_up(words.table, codes.data(), ends.data(), int64_t(ends.shape(0)) - 1, renamed.data(),
                singles, into.table, tokens);
    }
    return nb::make_tuple(handed_over(std::move(tokens.codes)),
                          handed_over(std::move(tokens.ends)));
}

nb::tuple count(In<int32_t, 1> codes, In<int64_t, 1> ends, In<int32_t, 1> renamed,
                int64_t n_words) {
    if (n_words < 0 || n_words > INT32_MAX)
        throw nb::value_error("n_words must be from 0 to 2**31 - 1.");
    Rows rows;
    {
        nb::gil_scoped_release release;
        check(codes, ends, renamed, n_words);
        rows = count_rows(codes.data(), ends.data(), int64_t(ends.shape(0)) - 1, renamed.data(),
                          n_words);
    }
    return nb::make_tuple(handed_over(std::move(rows.ends)), handed_over(std::move(rows.words)),
                          handed_over(std::move(rows.counts)));
}

}  // namespace

void add_words(nb::module_& m) {
    nb::class_<Words>(m, "WordTable")
        .def(nb::init<>())
        .def("__len__",
             [](const Words& words) {
                 std::shared_lock lock(words.busy);
                 return words.table.size();
             })
        .def("add", &add, "words"_a)
        .def("absorb", &absorb, "others"_a)
        .def("words", &listed, "first"_a = 0)
        .def("scan", &scan, "stream"_a, "classes"_a, nb::kw_only(), "least"_a, "need_letter"_a,
             "pairs"_a = false)
        .def("code", &code, "stream"_a)
        .def("count_known", &count_known, "texts"_a, "columns"_a, "classes"_a, nb::kw_only(),
             "least"_a, "need_letter"_a, "pairs"_a = false)
        .def("pairs", &pairs, "codes"_a, "ends"_a, "renamed"_a, nb::kw_only(), "singles"_a,
             "into"_a);
    m.def("count_rows", &count, "codes"_a, "ends"_a, "renamed"_a, nb::kw_only(), "n_words"_a);
    m.attr("WORD") = kWord;
    m.attr("LETTER") = kLetter;
    m.attr("UNSPACED") = kUnspaced;
}

}  // namespace opelda::text
