// An extension module that states spans by the header for C programs.
#include <pthread.h>
#include <Python.h>
#include <sonde.h>
#include <time.h>

static volatile double sink;

static double used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void burn(double seconds)
{
    double until = used() + seconds;
    while (used() < until)
        for (int i = 0; i < 1000; i++)
            sink += i;
}

// burn(name, seconds): in a span, with the GIL.
static PyObject *burn_in_span(PyObject *module, PyObject *args)
{
    const char *name;
    double seconds;
    (void)module;
    if (!PyArg_ParseTuple(args, "sd", &name, &seconds))
        return NULL;
    SONDE_SPAN(name);
    burn(seconds);
    Py_RETURN_NONE;
}

// without_gil(name, seconds): the span is entered and left while others may run Python code.
static PyObject *without_gil(PyObject *module, PyObject *args)
{
    const char *name;
    double seconds;
    (void)module;
    if (!PyArg_ParseTuple(args, "sd", &name, &seconds))
        return NULL;
    Py_BEGIN_ALLOW_THREADS sonde_span span = sonde_span_begin(name);
    sonde_span_set(span, "order", "42");
    sonde_span_set_number(span, "number", -7);
    burn(seconds);
    sonde_span_end(span);
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

typedef struct {
    sonde_span whole;
    double seconds;
} job;

static void *work(void *given)
{
    const job *mine = given;
    sonde_span part = sonde_span_begin_part("part", mine->whole);
    burn(mine->seconds);
    sonde_span_end(part);
    burn(mine->seconds);
    return NULL;
}

// in_thread(seconds): a part of the span, in a thread that Python does not know.
static PyObject *in_thread(PyObject *module, PyObject *args)
{
    job mine;
    pthread_t thread;
    (void)module;
    if (!PyArg_ParseTuple(args, "d", &mine.seconds))
        return NULL;
    mine.whole = sonde_span_begin("whole");
    Py_BEGIN_ALLOW_THREADS if (pthread_create(&thread, NULL, work, &mine) == 0)
        pthread_join(thread, NULL);
    Py_END_ALLOW_THREADS sonde_span_rename(mine.whole, "renamed");
    sonde_span_end(mine.whole);
    Py_RETURN_NONE;
}

// begin(name) and end(number): in functions of their own.
static PyObject *begin(PyObject *module, PyObject *name)
{
    (void)module;
    return PyLong_FromUnsignedLong(sonde_span_begin(PyUnicode_AsUTF8(name)).number);
}

static PyObject *end(PyObject *module, PyObject *number)
{
    sonde_span span = {(uint32_t)PyLong_AsUnsignedLong(number)};
    (void)module;
    sonde_span_end(span);
    Py_RETURN_NONE;
}

static PyObject *mark(PyObject *module, PyObject *text)
{
    (void)module;
    sonde_mark(PyUnicode_AsUTF8(text));
    Py_RETURN_NONE;
}

static PyObject *paused(PyObject *module, PyObject *seconds)
{
    (void)module;
    sonde_pause();
    burn(PyFloat_AsDouble(seconds));
    sonde_resume();
    Py_RETURN_NONE;
}

// The counters of the thread and the hottest functions; None where there are none.
static PyObject *asked(PyObject *module, PyObject *unused)
{
    static char json[1 << 16];
    sonde_thread_counts counts = {0, 0, 0, 0};
    (void)module;
    (void)unused;
    int counted = sonde_thread_counters(&counts);
    size_t length = sonde_hot(json, sizeof json);
    return Py_BuildValue("iKz", counted, (unsigned long long)counts.task_clock_ns,
                         length ? json : NULL);
}

static PyMethodDef methods[] = {
    {"burn", burn_in_span, METH_VARARGS, NULL},
    {"without_gil", without_gil, METH_VARARGS, NULL},
    {"in_thread", in_thread, METH_VARARGS, NULL},
    {"begin", begin, METH_O, NULL},
    {"end", end, METH_O, NULL},
    {"mark", mark, METH_O, NULL},
    {"paused", paused, METH_O, NULL},
    {"asked", asked, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "c_spans", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_c_spans(void) { return PyModule_Create(&definition); }
