#include "cpython/walk/sample_marks.h"

#include "core/base/hot.h"

#if PY_VERSION_HEX >= 0x030D0000
#include <opcode_ids.h>
#else
#include <opcode.h>
#endif

// An object like any other, should it ever be read, that cannot be freed.
static struct {
    PyObject object;
} mark_of_ours = {PyObject_HEAD_INIT(&PyBaseObject_Type)};

#if PY_VERSION_HEX >= 0x030E0000
#define MARK ((uintptr_t)&mark_of_ours.object | 1) // a reference that is not counted
#else
#define MARK ((uintptr_t)&mark_of_ours.object)
#endif

#if PY_VERSION_HEX < 0x030C0000
#define MARKED_ENTRY 3
#elif PY_VERSION_HEX < 0x030D0000
// The frame of an entry has a code object there, and others may take it for one. Up to 3.12.1 at
// least the interpreter distinguishes such frames from those of functions only by their
// instruction, which is before the first line of their code (_PyFrame_IsIncomplete), though it is
// one of another code then: the mark's first line is so far behind it that it is.
static PyCodeObject *entry_mark;

static bool stands_before(const frame_t *entry)
{
    return entry->prev_instr < code_start(entry_mark) + entry_mark->_co_firsttraceable;
}
#endif

void sonde_sample_marks_prepare(void)
{
#if PY_VERSION_HEX < 0x030C0000 // later ones have objects that live for ever
    Py_SET_REFCNT(&mark_of_ours.object, PY_SSIZE_T_MAX / 2);
#elif PY_VERSION_HEX < 0x030D0000
    if (!entry_mark)
        entry_mark = PyCode_NewEmpty("sonde", "<marked interpreter trampoline>", 0);
    if (!entry_mark)
        PyErr_Clear();
    else
        entry_mark->_co_firsttraceable = INT_MAX;
#endif
}

static uintptr_t mark_of(bool entry)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
    if (entry)
        return (uintptr_t)entry_mark;
#else
    (void)entry;
#endif
    return MARK;
}

static bool is_marked(uintptr_t place, bool entry)
{
#if PY_VERSION_HEX < 0x030C0000
    if (entry)
        return *(const uint8_t *)place == MARKED_ENTRY;
#endif
    return *(const uintptr_t *)place == mark_of(entry);
}

static void mark(uintptr_t place, bool entry)
{
#if PY_VERSION_HEX < 0x030C0000
    if (entry) {
        *(uint8_t *)place = MARKED_ENTRY;
        return;
    }
#endif
    *(uintptr_t *)place = mark_of(entry);
}

// The place of the callee's mark is known; 0: it has none.
static void look(sonde_sample_marks *seen, sonde_thread *thread, uintptr_t place, bool entry)
{
    uint32_t callee = seen->callee;
    seen->callee = SONDE_NO_WORD;
    if (!place) {
        seen->unclear = true;
    } else if (is_marked(place, entry)) {
        seen->found = true;
        seen->last = callee;
    } else if (seen->count < SONDE_MAX_DEPTH) {
        thread->unmarked[seen->count++] = place << 1 | entry;
    }
}

static int opcode_at(const PyCodeObject *code, Py_ssize_t index)
{
#if PY_VERSION_HEX >= 0x030C0000
    return code_start(code)[index].op.code;
#else
    return _Py_OPCODE(code_start(code)[index]);
#endif
}

static bool leaves_generator(const PyCodeObject *code, Py_ssize_t index)
{
    int opcode = index < 0 ? 0 : opcode_at(code, index);
#if PY_VERSION_HEX >= 0x030C0000
    if (opcode >= INSTRUMENTED_LINE || opcode == INSTRUMENTED_YIELD_VALUE)
        return true; // the original instruction is elsewhere
#endif
    return opcode == YIELD_VALUE || opcode == RETURN_GENERATOR;
}

// The current frame is published some instructions before the rest of a call is stored. What the
// caller keeps is to be believed once the callee has executed an instruction.
static bool has_begun(const frame_t *f, const PyCodeObject *code, Py_ssize_t index)
{
    if (f->owner == FRAME_OWNED_BY_GENERATOR)
        return !leaves_generator(code, index)
#if PY_VERSION_HEX >= 0x030D0000 // one that is suspended is behind its yield
               && !leaves_generator(code, index - 1)
#endif
            ;
#if PY_VERSION_HEX >= 0x030D0000
    return index > 0; // where it is when it is made
#else
    return index >= 0;
#endif
}

SONDE_HOT void sonde_sample_marks_frame(sonde_sample_marks *seen, sonde_thread *thread, frame_t *f,
                                        const PyCodeObject *code, Py_ssize_t index, uint32_t word)
{
    if (seen->found)
        return;
    bool innermost = !seen->any;
    seen->any = true;
    if (seen->callee != SONDE_NO_WORD)
        look(seen, thread, frame_result_slot(f, code), false);
    if (seen->found)
        return;
    if (innermost && !has_begun(f, code, index)) {
        seen->unbegun = true;
        return; // it counts when it has
    }
    seen->callee = word;
#if PY_VERSION_HEX < 0x030C0000
    if (frame_is_entry(f))
        look(seen, thread, (uintptr_t)&f->is_entry, true);
#endif
}

SONDE_HOT void sonde_sample_marks_entry(sonde_sample_marks *seen, sonde_thread *thread,
                                        frame_t *shim)
{
    if (seen->found || seen->callee == SONDE_NO_WORD)
        return;
#if PY_VERSION_HEX >= 0x030D0000
    look(seen, thread, (uintptr_t)&shim->f_executable, true);
#elif PY_VERSION_HEX >= 0x030C0000
    // An instruction more than 4 GiB above the mark is none that may be marked.
    look(seen, thread, entry_mark && stands_before(shim) ? (uintptr_t)&shim->f_code : 0, true);
#else
    (void)shim;
    (void)thread;
#endif
}

SONDE_HOT void sonde_sample_marks_end(sonde_sample_marks *seen, sonde_thread *thread,
                                      uint32_t depth, sonde_event *event)
{
    // A stack that is not written must not be marked: the next one would take it for known.
    if (seen->unclear || (event->flags & SONDE_UNDECODABLE) ||
        (seen->callee != SONDE_NO_WORD && !(event->flags & SONDE_TRUNCATED)))
        return;
    for (uint32_t i = 0; i < seen->count; i++)
        mark(thread->unmarked[i] >> 1, thread->unmarked[i] & 1);
    event->same = seen->found ? depth - seen->last : 0;
    event->flags |= SONDE_ACTIVATIONS;
    if (seen->unbegun)
        event->flags |= SONDE_UNBEGUN;
}
