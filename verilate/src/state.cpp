
// ---- the model's state as a whole: follows shim.cpp in builds that ask for it --------------------------------------------
//
// Generated beside this file: model_parts.h, one line PART(member) per module instance that Verilator did not inline. All
// registers, memories and ports lie in these members; what a part keeps on the heap (strings, queues) does not.

#include "Vmodel__Syms.h"
#include <cstring>

namespace {

struct StateApi {
    size_t (*size)(Sim*);
    void (*keep)(Sim*, uint8_t*);
    uint32_t (*same)(Sim*, const uint8_t*);
};

const Vmodel__Syms& all_of(Sim* sim) { return *sim->top->rootp->vlSymsp; }

size_t state_size(Sim* sim) {
    size_t size = 0;
#define PART(member) size += sizeof(all_of(sim).member);
#include "model_parts.h"
#undef PART
    return size;
}

void state_keep(Sim* sim, uint8_t* to) {
#define PART(member) std::memcpy(to, (const void*)&all_of(sim).member, sizeof(all_of(sim).member)), to += sizeof(all_of(sim).member);
#include "model_parts.h"
#undef PART
}

uint32_t state_same(Sim* sim, const uint8_t* as) {
#define PART(member) \
    if (std::memcmp(as, (const void*)&all_of(sim).member, sizeof(all_of(sim).member)) != 0) return 0; \
    as += sizeof(all_of(sim).member);
#include "model_parts.h"
#undef PART
    return 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const StateApi warpline_verilate_state = {state_size, state_keep, state_same};
