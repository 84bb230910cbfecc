#include "cpython/calls/tools.h"

#include "core/base/hot.h"
#include "core/session/session.h"
#include "cpython/calls/call_sink.h"
#include "cpython/calls/frame_evaluator.h"
#include "cpython/calls/tool_id.h"

void sonde_window_withheld(int reason) { atomic_fetch_add(&sonde.header->withheld[reason], 1); }

#if CALLS_ARE_MONITORED

int sonde_borrowed_tool = -1;

// sys.setprofile and sys.settrace have tool ids above those of the program.
#define LEGACY_TOOLS (0xffu << PROGRAM_TOOL_IDS & 0xffu)

// The tools that get events of all code, one bit each.
SONDE_HOT static unsigned tools_of_all_code(const PyInterpreterState *interpreter)
{
    unsigned tools = 0;
    for (size_t event = 0; event < sizeof interpreter->monitors.tools; event++)
        tools |= interpreter->monitors.tools[event];
    return tools;
}

// Which code objects a tool gets local events of is kept in these. A tool with a callback is taken
// to have some.
SONDE_HOT static bool has_callback(const PyInterpreterState *interpreter, int tool)
{
    for (int event = 0; event < _PY_MONITORING_EVENTS; event++)
        if (interpreter->monitoring_callables[tool][event])
            return true;
    return false;
}

SONDE_HOT int sonde_tool_active(const PyThreadState *state)
{
    const PyInterpreterState *interpreter = state->interp;
    unsigned tools = tools_of_all_code(interpreter);
    tools &= ~sonde_own_tools;
    if (sonde_borrowed_tool >= 0)
        tools &= ~(1u << sonde_borrowed_tool);
    if (state->c_profilefunc || state->c_tracefunc || tools & LEGACY_TOOLS)
        return SONDE_WITHHELD_TRACED;
    if (tools)
        return SONDE_WITHHELD_MONITORED;
    int in_use = 0;
    for (int tool = 0; tool < PROGRAM_TOOL_IDS; tool++) {
        if (tool == sonde_borrowed_tool || !interpreter->monitoring_tool_names[tool])
            continue;
        if (!(sonde_own_tools >> tool & 1) && has_callback(interpreter, tool))
            return SONDE_WITHHELD_MONITORED;
        in_use++;
    }
    return in_use == PROGRAM_TOOL_IDS ? SONDE_WITHHELD_NO_TOOL : -1;
}

#else

Py_tracefunc sonde_window_profiler;

SONDE_HOT int sonde_tool_active(const PyThreadState *state)
{
    bool ours = state->c_profilefunc == sonde_window_profiler;
    return (state->c_profilefunc && !ours) || state->c_tracefunc ? SONDE_WITHHELD_TRACED : -1;
}

#endif
