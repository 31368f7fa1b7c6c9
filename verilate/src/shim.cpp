// The C++ side of one model: wraps the class that Verilator generated into a table of plain C functions.
//
//     Rust  ──►  Api (function table)  ──►  Sim { context, generated class, trace }  ──►  Verilator's runtime
//
// Compiled once per model. Given on the command line: VM_TRACE_FST, VM_TRACE_VCD, VM_COVERAGE (0 or 1). Generated beside
// this file: model_ports.h, one line PORT(member, "name", direction, width) per port. The structs and the constants up to the
// table are mirrored in ffi.rs; keep both equal.
//
// No C++ exception and no exit() leaves this file: what Verilator would end the process for becomes a Stop record.

#include "Vmodel.h"
#include "verilated.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
using Trace = VerilatedFstC;
#elif VM_TRACE_VCD
#include "verilated_vcd_c.h"
using Trace = VerilatedVcdC;
#endif
#if VM_COVERAGE
#include "verilated_cov.h"
#endif

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

// ---- mirrored in ffi.rs -------------------------------------------------------------------------------------------------

struct Port {
    const char* name;
    uint32_t direction;  // 0 input, 1 output, 2 inout
    uint32_t width;      // bits
    void* data;          // CData (1..8), SData (..16), IData (..32), QData (..64) or EData words (65 and wider)
};

// Why the model stopped. The strings live as long as the Sim.
struct StopView {
    const char* file;
    const char* scope;
    const char* message;
    uint32_t line;
    uint32_t kind;  // STOP_*
};
constexpr uint32_t STOP_NONE = 0;    // still running
constexpr uint32_t STOP_DESIGN = 1;  // $stop, $fatal, $error, a failed assertion
constexpr uint32_t STOP_RUNTIME = 2; // Verilator's runtime gave up: no convergence, null dereference

constexpr uint32_t RUNNING = 0, FINISHED = 1, STOPPED = 2;  // results of eval

// ---- the model ----------------------------------------------------------------------------------------------------------

struct Stop {
    uint32_t kind = STOP_NONE;
    std::string file, scope, message;
    int line = 0;
};

struct Sim {
    VerilatedContext context;
    std::unique_ptr<Vmodel> top;
    std::vector<Port> ports;
    std::string output;       // $display text not yet taken by Rust
    size_t eval_output = 0;   // where in `output` the running eval began
    Stop stop;
    std::string write_error;  // first failure of writing a trace or coverage file
    bool finished = false;
    bool may_throw = false;   // see vl_fatal
    bool broken = false;      // an exception cut an evaluation short: never evaluate again
#if VM_TRACE
    std::unique_ptr<Trace> trace;
#endif
};

// The model whose code runs on this thread. Verilator's hooks below get no pointer to it.
thread_local Sim* t_sim = nullptr;

// Verilator keeps a thread-local pointer to the current context, and an unguarded global one behind it. A Sim may be used
// from any thread (one at a time), so every entry makes sure that both are set; the lock is taken only on a change.
std::mutex g_context_mutex;
thread_local VerilatedContext* t_context = nullptr;

struct Enter {
    explicit Enter(Sim* sim) {
        t_sim = sim;
        if (VL_UNLIKELY(t_context != &sim->context)) {
            const std::lock_guard<std::mutex> lock{g_context_mutex};
            Verilated::threadContextp(&sim->context);
            t_context = &sim->context;
        }
    }
    ~Enter() { t_sim = nullptr; }
};

// Verilator prints "%Fatal: …" or "%Error: …" before it calls vl_stop: that text of the running eval is the message.
std::string last_complaint(const Sim& sim) {
    size_t at = std::string::npos;
    for (const char* mark : {"%Fatal", "%Error"}) {
        const size_t found = sim.output.rfind(mark);
        if (found != std::string::npos && found >= sim.eval_output) at = at == std::string::npos ? found : std::max(at, found);
    }
    if (at == std::string::npos) return "$stop";
    const size_t end = sim.output.find_last_not_of("\n");
    return sim.output.substr(at, end + 1 - at);
}

void record_stop(uint32_t kind, const char* file, int line, const char* scope, std::string message) {
    Sim* const sim = t_sim;
    if (!sim || sim->stop.kind != STOP_NONE) return;  // the first reason counts
    sim->stop.kind = kind;
    sim->stop.file = file ? file : "";
    sim->stop.scope = scope ? scope : "";
    sim->stop.message = std::move(message);
    sim->stop.line = line;
}

}  // namespace

// ---- hooks: Verilator's runtime is compiled with VL_PRINTF and VL_USER_{FINISH,STOP,FATAL,WARN} set ---------------------------

// $display and friends.
int warpline_printf(const char* format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(nullptr, 0, format, args);
    va_end(args);
    if (length > 0 && t_sim) {
        std::string& out = t_sim->output;
        const size_t old = out.size();
        out.resize(old + length + 1);  // vsnprintf adds a NUL
        vsnprintf(&out[old], length + 1, format, again);
        out.resize(old + length);
    }
    va_end(again);
    return length;
}

void vl_finish(const char*, int, const char*) VL_MT_UNSAFE {
    if (t_sim) t_sim->finished = true;
    Verilated::threadContextp()->gotFinish(true);
}

void vl_stop(const char* file, int line, const char* scope) VL_MT_UNSAFE {
    if (t_sim) record_stop(STOP_DESIGN, file, line, scope, last_complaint(*t_sim));
    Verilated::threadContextp()->gotFinish(true);
}

void vl_warn(const char* file, int line, const char*, const char* message) VL_MT_UNSAFE {
    warpline_printf("%%Warning: %s:%d: %s\n", file ? file : "", line, message ? message : "");
}

// The caller does not expect this to return: a loop that does not converge would spin for ever, a null dereference would
// happen. So an evaluation is left by an exception. Trace and coverage writers, on the other hand, clean up after it returns,
// and they run in destructors too.
void vl_fatal(const char* file, int line, const char* scope, const char* message) VL_MT_UNSAFE {
    Sim* const sim = t_sim;
    if (sim && !sim->may_throw) {
        if (sim->write_error.empty()) sim->write_error = message ? message : "unknown error";
        return;
    }
    record_stop(STOP_RUNTIME, file, line, scope, message ? message : "");
    throw std::exception{};
}

// ---- the functions of the table -----------------------------------------------------------------------------------------

namespace {

// Runs `body`, which may evaluate the model, and keeps every exception inside.
template <typename Body>
void evaluate(Sim* sim, Body body) {
    sim->may_throw = true;
    try {
        body();
    } catch (const std::exception& e) {
        record_stop(STOP_RUNTIME, "", 0, "", e.what());  // no effect after vl_fatal, which was first
        sim->broken = true;
    } catch (...) {
        record_stop(STOP_RUNTIME, "", 0, "", "unknown C++ exception");
        sim->broken = true;
    }
    sim->may_throw = false;
}

// Null when the model could not be made.
Sim* create(int32_t seed) {
    try {
        std::unique_ptr<Sim> sim;
        {
            const std::lock_guard<std::mutex> lock{g_context_mutex};  // the constructor sets Verilator's global pointer
            sim = std::make_unique<Sim>();
            t_context = &sim->context;
        }
        const Enter enter{sim.get()};
        sim->context.randReset(2);  // registers and x start at random values, drawn from the seed
        sim->context.randSeed(seed);
#if VM_TRACE
        sim->context.traceEverOn(true);
#endif
        sim->may_throw = true;
        sim->top = std::make_unique<Vmodel>(&sim->context, "TOP");
        sim->may_throw = false;
#define PORT(member, name, direction, width) sim->ports.push_back({name, direction, width, (void*)&sim->top->member});
#include "model_ports.h"
#undef PORT
        return sim.release();
    } catch (...) {
        return nullptr;
    }
}

void destroy(Sim* sim) {
    const Enter enter{sim};
#if VM_TRACE
    if (sim->trace) sim->trace->close();  // it reads the model: first
    sim->trace.reset();
#endif
    if (!sim->broken) evaluate(sim, [&] { sim->top->final(); });  // `final` blocks
    sim->top.reset();
    delete sim;
}

size_t ports(Sim* sim, const Port** out) {
    *out = sim->ports.data();
    return sim->ports.size();
}

uint32_t eval(Sim* sim) {
    const Enter enter{sim};
    sim->eval_output = sim->output.size();
    if (!sim->broken) evaluate(sim, [&] { sim->top->eval(); });
    if (VL_UNLIKELY(sim->stop.kind != STOP_NONE)) return STOPPED;
    return sim->finished ? FINISHED : RUNNING;
}

void stop_reason(Sim* sim, StopView* out) {
    const Stop& stop = sim->stop;
    *out = {stop.file.c_str(), stop.scope.c_str(), stop.message.c_str(), (uint32_t)std::max(stop.line, 0), stop.kind};
}

// Text printed so far; it stays valid until the next call for this Sim.
size_t output(Sim* sim, const char** out) {
    *out = sim->output.data();
    return sim->output.size();
}

void clear_output(Sim* sim) { sim->output.clear(); }

// First error of writing a file, or null.
const char* write_error(Sim* sim) { return sim->write_error.empty() ? nullptr : sim->write_error.c_str(); }

uint64_t time(Sim* sim) { return sim->context.time(); }

// Writes the present values under the present time to an open trace, then lets time pass.
void advance(Sim* sim, uint64_t by) {
#if VM_TRACE
    if (sim->trace) {
        const Enter enter{sim};
        sim->trace->dump(sim->context.time());
    }
#endif
    sim->context.timeInc(by);
}

// 1 when the trace is open now.
uint32_t trace_open(Sim* sim, const char* path) {
#if VM_TRACE
    const Enter enter{sim};
    try {
        sim->write_error.clear();
        sim->trace = std::make_unique<Trace>();
        constexpr int all_levels = 99;
        sim->top->trace(sim->trace.get(), all_levels);
        sim->trace->open(path);
        if (sim->trace->isOpen()) return 1;
        sim->trace.reset();
    } catch (...) {
        sim->trace.reset();
    }
#endif
    (void)sim, (void)path;
    return 0;
}

void trace_close(Sim* sim) {
#if VM_TRACE
    const Enter enter{sim};
    if (sim->trace) sim->trace->close();
    sim->trace.reset();
#endif
    (void)sim;
}

// 1 when the file was opened; see write_error for the rest.
uint32_t coverage_write(Sim* sim, const char* path) {
#if VM_COVERAGE
    const Enter enter{sim};
    try {
        sim->write_error.clear();
        sim->context.coveragep()->write(path);
        return 1;
    } catch (...) {
    }
#endif
    (void)sim, (void)path;
    return 0;
}

// ---- mirrored in ffi.rs -------------------------------------------------------------------------------------------------

struct Api {
    Sim* (*create)(int32_t seed);
    void (*destroy)(Sim*);
    size_t (*ports)(Sim*, const Port**);
    uint32_t (*eval)(Sim*);
    void (*stop_reason)(Sim*, StopView*);
    size_t (*output)(Sim*, const char**);
    void (*clear_output)(Sim*);
    const char* (*write_error)(Sim*);
    uint64_t (*time)(Sim*);
    void (*advance)(Sim*, uint64_t);
    uint32_t (*trace_open)(Sim*, const char*);
    void (*trace_close)(Sim*);
    uint32_t (*coverage_write)(Sim*, const char*);
};

}  // namespace

// The only symbol that the shared object shows.
extern "C" __attribute__((visibility("default"))) const Api warpline_verilate_api = {
    create,      destroy, ports,   eval,       stop_reason, output,         clear_output,
    write_error, time,    advance, trace_open, trace_close, coverage_write,
};
