// What of a window's time the interpreter spent on reporting calls, and not on the program.
//
// Part of it is measured, part estimated (call_cost.h). All with the GIL held; a single thread's
// window is under way at a time. Inline, because it runs at every call that a window sees.
#ifndef SONDE_CPYTHON_CALL_ACCOUNTING_H
#define SONDE_CPYTHON_CALL_ACCOUNTING_H

#include "core/base/hash.h"
#include "core/sampling/call_windows.h"
#include "cpython/calls/call_cost.h"
#include "cpython/calls/call_sink.h"

// Code objects met in the window under way, besides those that were running when it began; one may
// be taken for new again where two share a place.
#define SONDE_MET_BITS 8

typedef struct {
    // Calls of Python functions are reported twice: where they are made, which says nothing new,
    // and where the function begins. In between the program does nothing: all of that is reporting.
    uint64_t spent;           // since the last call that was seen, measured
    int64_t reporting;        // and estimated
    uint64_t left;            // when we returned from the last one that was announced
    const PyCodeObject *code; // that begins next; NULL: unknown
    uint64_t windows;         // that were begun
    struct {
        const PyCodeObject *code;
        uint64_t window;
    } met[1u << SONDE_MET_BITS];
} sonde_call_accounts;

extern sonde_call_accounts sonde_accounts;

// A window begins.
void sonde_accounts_begin(void);

// A call is announced, and will be reported when its function begins.
void sonde_accounts_announce(const sonde_call_event *call);

// What meeting this code object took the interpreter, by estimate.
static inline int64_t sonde_accounts_meet(const PyCodeObject *code)
{
    uint32_t place = sonde_hash_place((uint64_t)(uintptr_t)code, SONDE_MET_BITS);
    if (sonde_accounts.met[place].code == code &&
        sonde_accounts.met[place].window == sonde_accounts.windows)
        return 0;
    sonde_accounts.met[place].code = code;
    sonde_accounts.met[place].window = sonde_accounts.windows;
    return (int64_t)(sonde_cost_of.unit * (double)Py_SIZE(code));
}

// What of the time until this call the program did not have, measured; and estimated.
static inline uint64_t sonde_accounts_spent(const sonde_call_event *call)
{
    uint64_t spent = sonde_accounts.spent;
    if (sonde_accounts.code && sonde_accounts.code == call->begins &&
        call->tsc > sonde_accounts.left) {
        spent += call->tsc - sonde_accounts.left;
        sonde_accounts_meet(call->begins); // in between, too
    }
    sonde_accounts.spent = 0;
    sonde_accounts.code = NULL;
    return spent;
}

static inline int64_t sonde_accounts_reporting(const sonde_call_event *call)
{
    int64_t reporting = sonde_accounts.reporting;
    if (!call->begins)
        reporting += sonde_cost_of.native;
    else if (call->by_evaluator)
        reporting += sonde_cost_of.frame + call->over * sonde_cost_of.over;
    else
        reporting += sonde_cost_of.start + sonde_accounts_meet(call->begins);
    sonde_accounts.reporting = 0;
    return reporting;
}

// Charges all of it to the window, for a call that it sees.
static inline void sonde_accounts_charge(sonde_window *window, const sonde_call_event *call)
{
    sonde_window_add_overhead(window, sonde_accounts_spent(call));
    window->reporting_tsc += sonde_accounts_reporting(call);
    window->min_tsc += call->begins ? (1 + call->over) * sonde_cost_of.python : sonde_cost_of.in_c;
    window->skip -= call->over < window->skip ? call->over : window->skip - 1;
}

// A call while the window warms up: what reporting it takes is not in the window's time. But its
// code has been met.
static inline void sonde_accounts_forget(const sonde_call_event *call)
{
    if (call->begins && !call->by_evaluator)
        sonde_accounts_meet(call->begins);
    sonde_accounts.spent = 0;
    sonde_accounts.reporting = 0;
    sonde_accounts.code = NULL;
}

#endif
