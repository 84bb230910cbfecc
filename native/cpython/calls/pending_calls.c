#include "cpython/calls/pending_calls.h"

#include "cpython/walk/walk.h"

#define MAX_PENDING 256
#define MAX_FRAMES 100000

static struct pending {
    PyThreadState *state;
    uint64_t thread; // the state's own number: an address may be used again
    const frame_t *frame;
    Py_ssize_t index;
} pending[MAX_PENDING];
static int count;

// A frame waits for one call at a time.
static int find(const PyThreadState *state, const frame_t *frame)
{
    for (int i = count - 1; i >= 0; i--)
        if (pending[i].frame == frame && pending[i].state == state)
            return i;
    return -1;
}

void sonde_pending_begins(PyThreadState *state, const frame_t *frame, Py_ssize_t index,
                          bool reported)
{
    int at = find(state, frame);
    if (!reported) {
        if (at >= 0)
            pending[at] = pending[--count];
        return;
    }
    if (at < 0 && count == MAX_PENDING && sonde_pending_count(state->interp) == MAX_PENDING)
        return;
    pending[at < 0 ? count++ : at] = (struct pending){state, (uint64_t)state->id, frame, index};
}

bool sonde_pending_returns(const PyThreadState *state, const frame_t *frame, Py_ssize_t index)
{
    int at = find(state, frame);
    return at >= 0 && pending[at].index == index && pending[at].thread == (uint64_t)state->id;
}

static bool is_pending(const struct pending *call, PyInterpreterState *interpreter)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(interpreter);
    while (state && state != call->state)
        state = PyThreadState_Next(state);
    if (!state || (uint64_t)state->id != call->thread)
        return false;
    const frame_t *frame = sonde_cpython_top(state);
    for (int depth = 0; frame && depth < MAX_FRAMES; depth++, frame = frame->previous) {
        PyCodeObject *code;
        Py_ssize_t index;
        if (frame == call->frame)
            return !frame_is_shim(frame) && frame_decode(frame, &code, &index) &&
                   index == call->index;
    }
    return false;
}

int sonde_pending_count(PyInterpreterState *interpreter)
{
    int left = 0;
    for (int i = 0; i < count; i++)
        if (is_pending(&pending[i], interpreter))
            pending[left++] = pending[i];
    return count = left;
}
