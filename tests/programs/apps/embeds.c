// A program with Python inside: its own threads call it, and it is initialised twice.
#include <Python.h>

#include <pthread.h>
#include <stdio.h>

#define THREADS 3

static const char source[] = "def compute(n):\n"
                             "    total = 0\n"
                             "    for i in range(n):\n"
                             "        total += i * i % 7\n"
                             "    return total\n";

static long totals[THREADS];

static long call(PyObject *function, long n)
{
    PyObject *result = PyObject_CallFunction(function, "l", n);
    if (!result) {
        PyErr_Print();
        return -1;
    }
    long total = PyLong_AsLong(result);
    Py_DECREF(result);
    return total;
}

static PyObject *function;

static void *work(void *number)
{
    long total = 0;
    for (int i = 0; i < 20; i++) {
        PyGILState_STATE state = PyGILState_Ensure();
        total += call(function, 20000);
        PyGILState_Release(state);
    }
    totals[(long)number] = total;
    return NULL;
}

static int life(int turn)
{
    PyConfig config;
    PyConfig_InitIsolatedConfig(&config);
    PyStatus status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        Py_ExitStatusException(status);
    PyObject *globals = PyModule_GetDict(PyImport_AddModule("__main__"));
    PyObject *done = PyRun_String(source, Py_file_input, globals, globals);
    if (!done)
        return 1;
    Py_DECREF(done);
    function = PyDict_GetItemString(globals, "compute");
    pthread_t threads[THREADS];
    PyThreadState *meanwhile = PyEval_SaveThread();
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    PyEval_RestoreThread(meanwhile);
    long own = call(function, 1000000);
    printf("life %d: %ld %ld %ld %ld, ends with %d\n", turn, totals[0], totals[1], totals[2], own,
           Py_FinalizeEx());
    fflush(stdout);
    return 0;
}

int main(int argc, char **argv)
{
    for (int turn = 0; turn < 2; turn++)
        if (life(turn))
            return 1;
    if (argc > 1 && argv[1][0] == 'w') // until its input ends
        getchar();
    return 5;
}
