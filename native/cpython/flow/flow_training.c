#define _GNU_SOURCE
#include "cpython/flow/flow_training.h"

#include "core/flow/flow_costs.h"
#include "cpython/flow/flow_filter.h"
#include "cpython/flow/flow_source.h"

#include <string.h>
#include <sys/mman.h>

PyThreadState *sonde_flow_trainee;

// Functions are called run_… or, if they need functions of C to be reported, native_….
static const char source[] =
    "class E(Exception): pass\n"
    "error = E()\n"
    "pad = '  x = x\\n' * 160\n"
    "exec('def far(x):\\n if x:\\n' + pad + ' return x\\n'\n"
    "     'def far_yields(n):\\n if n < 0:\\n' + pad.replace('x', 'n')\n"
    "     + ' while n:\\n  yield\\n  n -= 1\\n'\n"
    "     'def run_far_call(n):\\n if n < 0:\\n' + pad.replace('x', 'n')\n"
    "     + ' for _ in range(n):\\n  empty()\\n'\n"
    "     'def native_far_call(n):\\n if n < 0:\\n' + pad.replace('x', 'n')\n"
    "     + ' for _ in range(n):\\n  hash(1)\\n', globals())\n"
    "def empty(): pass\n"
    "def one(x): return x\n"
    "def twice():\n empty()\n empty()\n"
    "def deep(): twice()\n"
    "def tree(d):\n if d:\n  tree(d - 1)\n  tree(d - 1)\n"
    "def yields(n):\n while n:\n  yield\n  n -= 1\n"
    "def yields_from(n): yield from yields(n)\n"
    "def yields_calls(n):\n while n:\n  empty()\n  yield\n  empty()\n  n -= 1\n"
    "def raises(): raise error\n"
    "def passes_on(): raises()\n"
    "def calls_raises():\n empty()\n raises()\n"
    "def run_empty(n):\n for _ in range(n): empty()\n"
    "def run_one(n):\n for _ in range(n): one(1)\n"
    "def run_twice(n):\n for _ in range(n): twice()\n"
    "def run_deep(n):\n for _ in range(n): deep()\n"
    "def run_tree(n):\n for _ in range(n // 16): tree(4)\n"
    "def run_yields(n):\n for _ in yields(n): pass\n"
    "def run_yields_calls(n):\n for _ in yields(n): empty()\n"
    "def run_calls_in_yields(n):\n for _ in yields_calls(n): pass\n"
    "def run_both(n):\n for _ in yields_calls(n): empty()\n"
    "def run_short(n):\n for _ in range(n // 2):\n  for _ in yields(2): pass\n"
    "def run_yields_from(n):\n for _ in yields_from(n): pass\n"
    "def run_close(n):\n for _ in range(n // 4):\n"
    "  g = yields(3)\n  next(g)\n  g.close()\n"
    "def run_raises(n):\n for _ in range(n // 4):\n  try: raises()\n  except E: pass\n"
    "def run_passes_on(n):\n for _ in range(n // 4):\n  try: passes_on()\n  except E: empty()\n"
    "def run_calls_raises(n):\n"
    " for _ in range(n // 4):\n  try: calls_raises()\n  except E: pass\n"
    "def run_far(n):\n for _ in range(n): far(0)\n"
    "def run_far_twice(n):\n for _ in range(n):\n  far(0)\n  empty()\n"
    "def run_far_yields(n):\n for _ in far_yields(n): pass\n"
    "def run_sort(n): sorted(range(n), key=one)\n"
    "def native_hash(n):\n for _ in range(n): hash(1)\n"
    "def native_calls(n):\n for _ in range(n):\n  hash(1)\n  empty()\n"
    "def native_two(n):\n for _ in range(n):\n  hash(1)\n  abs(2)\n  empty()\n  empty()\n"
    "def hashes(): hash(1)\n"
    "def native_nested(n):\n for _ in range(n): hashes()\n"
    "def native_callback(n):\n for _ in range(n // 8): sorted((3, 1, 2), key=one)\n"
    "def native_raises(n):\n for _ in range(n // 4):\n  try: int('x')\n  except ValueError: pass\n"
    "def check(n):\n for _ in range(n // 8):\n"
    "  twice()\n  one(1)\n  for _ in yields(2): empty()\n  tree(2)\n  empty()\n";

// From 3.12 on a frame is made before its entry is reported, and taken apart after its exit is.
// Samples attribute both to the function, and so do we: the more of the cost is the caller's.
#define INSIDE (PY_VERSION_HEX >= 0x030C0000 ? 0.3 : 0.5)

#define CALLS 256
#define UNOBSERVED 12
#define OBSERVED 12
#define ENOUGH (CALLS / 16)
#define NODES 4096u

static bool failed;

// A pattern with so many calls, which no exception may leave.
static uint64_t timed(PyObject *function, PyObject *calls)
{
    uint64_t began = __rdtsc();
    PyObject *result = PyObject_CallOneArg(function, calls);
    uint64_t took = __rdtsc() - began;
    if (!result) {
        PyErr_Clear();
        failed = true;
    }
    Py_XDECREF(result);
    return took;
}

static double fastest(PyObject *function, PyObject *calls, int times)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < times && !failed; i++) {
        uint64_t took = timed(function, calls);
        best = took < best ? took : best;
    }
    return (double)best;
}

// Each run begins a tree of its own, so that it ends with the pattern.
static void observe(PyThreadState *state, PyObject *function, PyObject *calls, int times)
{
    if (!sonde_flow_source_on(state))
        failed = true;
    for (int i = 0; i < times && !failed; i++)
        timed(function, calls);
    sonde_flow_source_off(state);
}

static void learn(PyThreadState *state, PyObject *function, PyObject *calls)
{
    timed(function, calls); // until it is specialized
    double unobserved = fastest(function, calls, UNOBSERVED);
    if (!sonde_flow_source_on(state))
        failed = true;
    timed(function, calls); // until it is again
    sonde_flow_costs_begin();
    for (int i = 0; i < OBSERVED && !failed; i++) {
        sonde_flow_costs_watch();
        timed(function, calls);
        sonde_flow_costs_watched();
    }
    sonde_flow_source_off(state);
    sonde_flow_costs_learn(unobserved, ENOUGH);
}

// What is left of the cost of an event of functions that were no pattern.
static double residual_of(PyThreadState *state, PyObject *function, PyObject *calls)
{
    timed(function, calls);
    double unobserved = fastest(function, calls, UNOBSERVED), best = -1;
    uint64_t events = 0;
    for (int i = 0; i < OBSERVED && !failed; i++) {
        uint32_t first = atomic_load(&sonde_flow.header->used);
        sonde_flow_mine.run = 0; // a tree of its own
        observe(state, function, calls, 1);
        uint64_t took = 0, entries = 0;
        for (uint32_t n = first + SONDE_FLOW_ROOT_NODES; n < atomic_load(&sonde_flow.header->used);
             n++) {
            took += sonde_flow.nodes[n].measured - sonde_flow.nodes[n].overhead;
            entries += sonde_flow.nodes[n].calls + sonde_flow.nodes[n].resumptions;
        }
        double off = (double)took - unobserved;
        off = off < 0 ? -off : off;
        events = 2 * entries;
        if (best < 0 || off < best)
            best = off;
    }
    return events ? best / (double)events : 0;
}

static bool starts_with(PyObject *name, const char *prefix)
{
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

static void train(PyThreadState *state, PyObject *globals, bool native, double *residual)
{
    PyObject *calls = PyLong_FromLong(CALLS), *functions = PyDict_Items(globals);
    for (Py_ssize_t i = 0; calls && functions && i < PyList_GET_SIZE(functions) && !failed; i++) {
        PyObject *pair = PyList_GET_ITEM(functions, i), *name = PyTuple_GET_ITEM(pair, 0);
        if (starts_with(name, "run_") || (native && starts_with(name, "native_")))
            if (PyFunction_Check(PyTuple_GET_ITEM(pair, 1)))
                learn(state, PyTuple_GET_ITEM(pair, 1), calls);
    }
    PyObject *check = PyDict_GetItemString(globals, "check");
    if (!calls || !functions || !check)
        failed = true;
    if (!failed) {
        sonde_flow_costs_complete();
        *residual = residual_of(state, check, calls);
    }
    Py_XDECREF(functions);
    Py_XDECREF(calls);
    PyErr_Clear();
}

// Neither compiling nor running it raises an audit event.
static PyObject *functions_of_ours(void)
{
    PyObject *globals = PyDict_New(), *name = PyUnicode_FromString("<sonde>");
    PyObject *code = Py_CompileString(source, "<sonde: calibration>", Py_file_input);
    PyObject *done = NULL;
    if (globals && name && code && PyDict_SetItemString(globals, "__name__", name) == 0 &&
        PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0)
        done = PyEval_EvalCode(code, globals, globals);
    Py_XDECREF(code);
    Py_XDECREF(name);
    if (!done) {
        PyErr_Clear();
        Py_CLEAR(globals);
    }
    Py_XDECREF(done);
    return globals;
}

bool sonde_flow_train(PyThreadState *state, const sonde_flow_header *orders, double *residual)
{
    size_t size = SONDE_FLOW_NODES_AT + NODES * sizeof(sonde_flow_node);
    sonde_flow_header *room =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return false;
    room->metric = SONDE_FLOW_WALL;
    room->flags = orders->flags & SONDE_FLOW_NATIVE;
    room->capacity = NODES;
    failed = true;
    PyObject *globals = functions_of_ours();
    if (globals && sonde_flow_begin(room, size)) {
        failed = false;
        sonde_flow.inside = INSIDE;
        sonde_flow.describe = NULL;
        sonde_flow.hold = NULL;
        sonde_flow_limited = false;
        sonde_flow_trainee = state;
        sonde_flow_costs_reset();
        train(state, globals, room->flags & SONDE_FLOW_NATIVE, residual);
        sonde_flow_trainee = NULL;
        sonde_flow.took = sonde_flow.seen = NULL;
        if (failed)
            sonde_flow_costs_reset();
        sonde_flow_end(NULL);
    }
    Py_XDECREF(globals);
    munmap(room, size);
    return !failed;
}
