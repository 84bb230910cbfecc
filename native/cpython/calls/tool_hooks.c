#include "cpython/calls/tool_hooks.h"

#include <string.h>

// C functions get at most four words, whatever their calling convention is.
typedef PyObject *(*c_function)(PyObject *self, void *first, void *second, void *third);

#define MAX_HOOKS 20
static struct {
    PyMethodDef *method;
    c_function real;
    PyMethodDef unhooked;
} hooks[MAX_HOOKS];
static int hook_count;
static bool in_place;
static const sonde_tool_watch *watch; // set before the first hook, and stays

static PyObject *call(int which, PyObject *self, void *first, void *second, void *third)
{
    PyThreadState *state = PyThreadState_Get();
    c_function real = hooks[which].real;
    bool counted = watch->changes(state);
    PyObject *result = real(self, first, second, third);
    if (counted)
        watch->changed(state);
    return result;
}

#define HOOK(number)                                                                               \
    static PyObject *hook_##number(PyObject *self, void *first, void *second, void *third)         \
    {                                                                                              \
        return call(number, self, first, second, third);                                           \
    }
HOOK(0)
HOOK(1)
HOOK(2)
HOOK(3)
HOOK(4)
HOOK(5)
HOOK(6)
HOOK(7)
HOOK(8)
HOOK(9)
HOOK(10)
HOOK(11)
HOOK(12)
HOOK(13)
HOOK(14)
HOOK(15)
HOOK(16)
HOOK(17)
HOOK(18)
HOOK(19)
static const c_function by_number[MAX_HOOKS] = {
    hook_0,  hook_1,  hook_2,  hook_3,  hook_4,  hook_5,  hook_6,  hook_7,  hook_8,  hook_9,
    hook_10, hook_11, hook_12, hook_13, hook_14, hook_15, hook_16, hook_17, hook_18, hook_19};

static c_function address_of(const PyMethodDef *method)
{
    return (c_function)(void (*)(void))method->ml_meth;
}

static void set_address(PyMethodDef *method, c_function function)
{
    PyCFunction address = (PyCFunction)(void (*)(void))function;
    __atomic_store_n(&method->ml_meth, address, __ATOMIC_RELEASE);
}

// Everything that changes what a program observes, or shows whether another tool observes it.
static bool is_hooked(const char *module, const char *name)
{
    static const char *const of_sys[] = {"setprofile",
                                         "settrace",
                                         "_setprofileallthreads",
                                         "_settraceallthreads",
                                         "activate_stack_trampoline",
                                         "deactivate_stack_trampoline"};
    if (strcmp(module, "sys") != 0)
        return true; // all of sys.monitoring
    for (size_t i = 0; i < sizeof of_sys / sizeof *of_sys; i++)
        if (strcmp(of_sys[i], name) == 0)
            return true;
    return false;
}

static bool hook_module(PyObject *module, const char *name)
{
    PyModuleDef *definition = module && PyModule_Check(module) ? PyModule_GetDef(module) : NULL;
    if (!definition || strcmp(definition->m_name, name) != 0)
        return false;
    PyMethodDef *method = definition->m_methods;
    for (; method && method->ml_name && hook_count < MAX_HOOKS; method++) {
        if (!is_hooked(name, method->ml_name))
            continue;
        hooks[hook_count].method = method;
        hooks[hook_count].unhooked = *method;
        hooks[hook_count].real = address_of(method);
        set_address(method, by_number[hook_count]);
        hook_count++;
    }
    return !method || !method->ml_name;
}

bool sonde_tool_hooks_set(const sonde_tool_watch *by)
{
    watch = by;
    if (in_place)
        return true;
    hook_count = 0;
    in_place = true;
    PyObject *modules = PyImport_GetModuleDict(); // borrowed
    if (!hook_module(modules ? PyDict_GetItemString(modules, "sys") : NULL, "sys"))
        return false;
#if PY_VERSION_HEX >= 0x030C0000
    return hook_module(PySys_GetObject("monitoring"), "sys.monitoring");
#else
    return true;
#endif
}

void sonde_tool_hooks_remove(void)
{
    for (int i = 0; i < hook_count; i++)
        if (address_of(hooks[i].method) == by_number[i])
            set_address(hooks[i].method, hooks[i].real);
    in_place = false;
}

PyObject *sonde_unhooked(PyObject *module, const char *name)
{
    for (int i = 0; i < hook_count; i++)
        if (strcmp(hooks[i].unhooked.ml_name, name) == 0)
            return PyCFunction_NewEx(&hooks[i].unhooked, module, NULL);
    return NULL;
}
