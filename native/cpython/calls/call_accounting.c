#include "cpython/calls/call_accounting.h"

sonde_call_accounts sonde_accounts;

void sonde_accounts_begin(void)
{
    sonde_accounts.spent = sonde_accounts.left = 0;
    sonde_accounts.reporting = 0;
    sonde_accounts.code = NULL;
    sonde_accounts.windows++;
}

// The code of a function that begins as soon as it is called.
static const PyCodeObject *code_at_once(PyObject *callable)
{
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    if (!PyFunction_Check(callable))
        return NULL;
    const PyCodeObject *code = (const PyCodeObject *)PyFunction_GET_CODE(callable);
    return code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR) ? NULL : code;
}

void sonde_accounts_announce(const sonde_call_event *call)
{
    sonde_accounts.reporting += sonde_cost_of.announced;
    sonde_accounts.code = code_at_once(call->callable);
    sonde_accounts.left = __rdtsc();
    sonde_accounts.spent += sonde_accounts.left - call->tsc;
}
