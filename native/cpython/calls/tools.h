// The tools by which a program observes itself: sys.setprofile, sys.settrace, sys.monitoring,
// another evaluator of frames. What a window switches on would change the events they get, so no
// window opens while one of them is active, and a window ends before one becomes active.
#ifndef SONDE_CPYTHON_TOOLS_H
#define SONDE_CPYTHON_TOOLS_H

#include "cpython/frames/frames.h"

// Why no window may open on this thread now, of SONDE_WITHHELD_*; -1: it may. Reads memory only, so
// it may be called in a signal handler of a thread that is attached.
int sonde_tool_active(const PyThreadState *state);

// Counts a window that was not opened.
void sonde_window_withheld(int reason);

#if PY_VERSION_HEX >= 0x030C0000
// The tool id that a window of ours has borrowed; -1: none.
extern int sonde_borrowed_tool;

// The tool ids that a program can have are below this one.
#define PROGRAM_TOOL_IDS 6
#else
// The profiling function by which windows of ours see calls; NULL: they never did.
extern Py_tracefunc sonde_window_profiler;
#endif

#endif
