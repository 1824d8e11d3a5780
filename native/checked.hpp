// Invariants that are checked in builds with -DOPELDA_CHECKED (make test-asan and test-tsan). A
// violation aborts the process and reports the condition and its location.
#pragma once

#ifdef OPELDA_CHECKED
#include <cstdio>
#include <cstdlib>

#define OPELDA_ASSERT(condition)                                                         \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                                \
        }                                                                                \
    } while (false)
#else
#define OPELDA_ASSERT(condition) static_cast<void>(0)
#endif
