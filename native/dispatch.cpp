// Which instruction set's kernels to use: the best this processor has, or the one asked for.
#include <atomic>
#include <cstring>

#include "kernels.hpp"

#ifdef OPELDA_X86
namespace opelda_avx512 {
extern const opelda::Kernels table;
}
namespace opelda_avx2 {
extern const opelda::Kernels table;
}
#endif
namespace opelda_base {
extern const opelda::Kernels table;
}

namespace opelda {
namespace {

struct Choice {
    const Kernels* table;
    bool available;
};

std::atomic<const Kernels*> chosen{nullptr};  // looked up by many threads at once

bool has_avx512() {
#ifdef OPELDA_X86
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

bool has_avx2() {
#ifdef OPELDA_X86
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

template <class Visit> bool visit_tables(Visit visit) {
#ifdef OPELDA_X86
    if (visit(Choice{&opelda_avx512::table, has_avx512()})) return true;
    if (visit(Choice{&opelda_avx2::table, has_avx2()})) return true;
#endif
    return visit(Choice{&opelda_base::table, true});
}

}  // namespace

const Kernels& best_kernels() {
    if (!chosen)
        visit_tables([](Choice c) {
            if (c.available) chosen = c.table;
            return c.available;
        });
    return *chosen;
}

bool use_kernels(const char* name) {
    return visit_tables([name](Choice c) {
        const bool found = c.available && std::strcmp(c.table->name, name) == 0;
        if (found) chosen = c.table;
        return found;
    });
}

}  // namespace opelda
