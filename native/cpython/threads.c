#include "threads.h"

#include "../core/guard.h"
#include "frames.h"

typedef struct {
    sonde_python_thread *out;
    int room, found;
} listing;

// Lists may change while we go along them: what is read is checked later by asking the kernel for
// the thread's CPU clock, and a list that leads nowhere ends in the guard or at `room`.
static void list_body(void *arg)
{
    listing *job = arg;
    int n = 0;
    for (PyInterpreterState *i = _PyRuntime.interpreters.head; i && n < job->room; i = i->next)
        for (PyThreadState *t = i->threads.head; t && n < job->room; t = t->next)
            if (t->native_thread_id)
                job->out[n++] = (sonde_python_thread){(uint32_t)t->native_thread_id, t};
    job->found = n;
}

int sonde_list_threads(sonde_python_thread *out, int room)
{
    listing job = {out, room, -1};
    return sonde_guard_run(list_body, &job) ? job.found : -1;
}
