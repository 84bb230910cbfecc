#define _GNU_SOURCE
#include "cpython/calls/call_cost.h"

#include "cpython/calls/call_events.h"
#include "cpython/calls/tools.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

sonde_call_cost sonde_cost_of;
sonde_measuring sonde_call_cost_measuring;
uint64_t sonde_call_cost_measured;

// Enough calls in a row that those of the function around them do not matter; enough rounds that
// one which was disturbed does not; enough times unseen for the interpreter to specialise it again.
#define CALLS 64
#define ROUNDS 9
#define UNSEEN 8
#define SEEN 4

// How much longer a function with CALLS calls takes when they are reported: per call, and per code
// unit of its own when it is reported for the first time. Without what was measured.
typedef struct {
    double call, unit;
    double unseen; // and what a call takes in any case
} cost;

// ---- one run

static bool failed;
static PyObject *raised_inside;
static PyThreadState *measurer; // the thread that measures, and whether tools get no events of it
static bool measurer_hidden;

// What a handler of the program's raised while functions of ours ran is the program's; that there
// is no room for them is not.
static void keep_exception(void)
{
    bool is_ours =
        PyErr_ExceptionMatches(PyExc_RecursionError) || PyErr_ExceptionMatches(PyExc_MemoryError);
    if (is_ours || raised_inside) {
        PyErr_Clear();
        return;
    }
#if PY_VERSION_HEX >= 0x030C0000
    raised_inside = PyErr_GetRaisedException();
#else
    PyObject *type, *traceback;
    PyErr_Fetch(&type, &raised_inside, &traceback);
    PyErr_NormalizeException(&type, &raised_inside, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
#endif
}

static int raise_again(void *exception)
{
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return -1;
}

// As soon as the thread runs code of the program's again. Handlers of POSIX signals run in the main
// thread only; others get classes (PyThreadState_SetAsyncExc).
static void pass_exception_on(void)
{
    PyObject *exception = raised_inside;
    raised_inside = NULL;
    if (!exception ||
        (syscall(SYS_gettid) == getpid() && Py_AddPendingCall(raise_again, exception) == 0))
        return;
    PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), (PyObject *)Py_TYPE(exception));
    Py_DECREF(exception);
}

static uint64_t timed(PyObject *function)
{
    sonde_call_cost_measured = 0;
    uint64_t tsc = __rdtsc();
    PyObject *result = PyObject_CallNoArgs(function);
    tsc = __rdtsc() - tsc;
    if (!result) {
        failed = true;
        keep_exception();
    }
    Py_XDECREF(result);
    return tsc - sonde_call_cost_measured;
}

// By C, whose calls are not reported.
static uint64_t timed_from_c(PyObject *function)
{
    uint64_t took = 0;
    for (int i = 0; i < CALLS && !failed; i++)
        took += timed(function);
    return took;
}

// ---- rounds of them

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_size);
    return values[ROUNDS / 2];
}

// Whatever disturbs a run makes it longer.
static double fastest_of(PyObject *function, uint64_t (*run)(PyObject *), int times)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < times && !failed; i++) {
        uint64_t took = run(function);
        best = took < best ? took : best;
    }
    return (double)best;
}

static cost cost_of(PyObject *function, uint64_t (*run)(PyObject *), sonde_call_scope how)
{
    double calls[ROUNDS], units[ROUNDS], fastest = 0;
    PyThreadState *state = PyThreadState_Get();
    Py_ssize_t size = Py_SIZE(PyFunction_GET_CODE(function));
    for (int round = 0; round < ROUNDS && !failed; round++) {
        double unseen = fastest_of(function, run, UNSEEN);
        // C code may have turned a tool on, which is not reported.
        if (failed || sonde_tool_active(state) >= 0 || !sonde_call_events_begin(state, how)) {
            failed = true;
            break;
        }
        double first = (double)run(function), seen = fastest_of(function, run, SEEN);
        sonde_call_events_end(state, how);
        fastest = round && fastest < unseen ? fastest : unseen;
        calls[round] = (seen - unseen) / CALLS;
        units[round] = (first - seen) / (double)(size > 0 ? size : 1);
    }
    return failed ? (cost){0} : (cost){median(calls), median(units), fastest / CALLS};
}

// ---- what is run

// One call a line: a loop would be a part of what is measured.
static char *source(void)
{
    static const char before[] = "def empty(): pass\n"
                                 "def python():\n",
                      python[] = " empty()\n", between[] = "def native():\n",
                      native[] = " abs(1)\n";
    char *text = malloc(sizeof before + sizeof between + CALLS * (sizeof python + sizeof native));
    if (!text)
        return NULL;
    char *end = stpcpy(text, before);
    for (int i = 0; i < CALLS; i++)
        end = stpcpy(end, python);
    end = stpcpy(end, between);
    for (int i = 0; i < CALLS; i++)
        end = stpcpy(end, native);
    return text;
}

static PyObject *functions(void)
{
    char *text = source();
    PyObject *code =
        text ? Py_CompileString(text, "<sonde: what a call costs>", Py_file_input) : NULL;
    free(text);
    PyObject *made = code ? PyDict_New() : NULL;
    PyObject *builtins = PyEval_GetBuiltins(); // borrowed
    PyObject *result = NULL;
    if (made && builtins && PyDict_SetItemString(made, "__builtins__", builtins) == 0)
        result = PyEval_EvalCode(code, made, made);
    Py_XDECREF(code);
    if (!result) {
        keep_exception();
        Py_CLEAR(made);
    }
    Py_XDECREF(result);
    return made;
}

static void measure(PyObject *made)
{
    PyObject *empty = PyDict_GetItemString(made, "empty"); // all borrowed
    PyObject *python = PyDict_GetItemString(made, "python");
    PyObject *native = PyDict_GetItemString(made, "native");
    failed |= !empty || !python || !native;
    cost alone = cost_of(empty, timed_from_c, SONDE_SEE_ALL);
    cost both = cost_of(python, timed, SONDE_SEE_ALL);
    cost in_c = cost_of(native, timed, SONDE_SEE_ALL);
    cost frames = cost_of(python, timed, SONDE_SEE_FRAMES);
    sonde_call_cost_measuring = SONDE_COST_OVER;
    cost over = cost_of(python, timed, SONDE_SEE_FRAMES);
    if (failed)
        return;
    double unit = (both.unit + in_c.unit) / 2;
    sonde_cost_of = (sonde_call_cost){.start = (int64_t)alone.call,
                                      .announced = (int64_t)(both.call - alone.call),
                                      .native = (int64_t)in_c.call,
                                      .frame = (int64_t)frames.call,
                                      .over = (int64_t)over.call,
                                      .unit = CALLS_ARE_MONITORED && unit > 0 ? unit : 0,
                                      .python = (uint64_t)both.unseen,
                                      .in_c = (uint64_t)in_c.unseen};
}

bool sonde_call_cost_measure(void)
{
    failed = false;
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *raised = PyErr_GetRaisedException();
#else
    PyObject *type, *raised, *traceback;
    PyErr_Fetch(&type, &raised, &traceback);
#endif
    measurer = PyThreadState_Get();
    measurer_hidden = false;
    sonde_call_cost_measuring = SONDE_COST_SEEN;
    PyObject *made = functions();
    if (made)
        measure(made);
    bool known = made && !failed;
    sonde_call_cost_measuring = SONDE_COST_KNOWN;
    if (measurer_hidden)
        PyThreadState_LeaveTracing(measurer);
    Py_XDECREF(made);
    PyErr_Clear();
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(raised);
#else
    PyErr_Restore(type, raised, traceback);
#endif
    pass_exception_on();
    return known;
}

// From 3.12 on a tool gets the events of all threads. The function of ours that another thread is
// in the middle of has been called before the tool came: one that keeps a stack of calls, as
// cProfile does, would take its return for that of the last call it knows of.
void sonde_call_cost_abandon(PyThreadState *by)
{
    failed = true;
    if (CALLS_ARE_MONITORED && sonde_call_cost_measuring && measurer != by && !measurer_hidden) {
        PyThreadState_EnterTracing(measurer);
        measurer_hidden = true;
    }
}

void sonde_call_cost_forked(void)
{
    failed = true;
    sonde_call_cost_measuring = SONDE_COST_KNOWN;
}
