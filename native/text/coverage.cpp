// Records executed code blocks of this module for a fuzzer (`make fuzz`): the compiler calls the
// function at the start of each block.
#include <cstdint>

extern "C" {

constexpr uintptr_t kCounters = 1 << 14;
__attribute__((visibility("default"))) uint8_t opelda_blocks[kCounters];

void __sanitizer_cov_trace_pc() {  // NOLINT(bugprone-reserved-identifier)
    // relative to the module's load address; neighbours have separate counters
    const auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) -
                      reinterpret_cast<uintptr_t>(opelda_blocks);
    ++opelda_blocks[(here ^ (here >> 14)) % kCounters];
}
}
