#include "cpython/frames/code_objects.h"

#include "core/base/clock.h"
#include "core/session/name_records.h"
#include "cpython/frames/frames.h"

#define FILE_MAX_BYTES 4096
// Line tables of real modules stay far below; what is cut off shows as line 0.
#define TABLE_MAX_BYTES (96u << 10)

static size_t utf8_put(char *to, size_t room, Py_UCS4 c)
{
    if (c < 0x80 && room >= 1) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800 && room >= 2) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000 && room >= 3) {
        to[0] = (char)(0xE0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3F));
        to[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    if (room >= 4) {
        to[0] = (char)(0xF0 | c >> 18);
        to[1] = (char)(0x80 | (c >> 12 & 0x3F));
        to[2] = (char)(0x80 | (c >> 6 & 0x3F));
        to[3] = (char)(0x80 | (c & 0x3F));
        return 4;
    }
    return 0;
}

// A str as UTF-8 without the interpreter's help (its own encoder allocates).
static uint32_t utf8_of(PyObject *text, char *to, size_t room)
{
    if (!text || !PyUnicode_Check(text) || !PyUnicode_IS_COMPACT(text))
        return 0;
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        size_t n = (size_t)length < room ? (size_t)length : room;
        memcpy(to, PyUnicode_1BYTE_DATA(text), n);
        return (uint32_t)n;
    }
    size_t at = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        size_t n = utf8_put(to + at, room - at, PyUnicode_READ_CHAR(text, i));
        if (!n)
            break;
        at += n;
    }
    return (uint32_t)at;
}

static size_t most_bytes(PyObject *text, size_t limit)
{
    if (!text || !PyUnicode_Check(text))
        return 0;
    size_t n = (size_t)PyUnicode_GET_LENGTH(text) * (PyUnicode_IS_COMPACT_ASCII(text) ? 1 : 4);
    return n < limit ? n : limit;
}

static bool write_code(sonde_thread *thread, PyCodeObject *code, uint64_t id)
{
    PyObject *name = code->co_qualname, *file = code->co_filename, *table = code->co_linetable;
    size_t name_room = most_bytes(name, SONDE_NAME_MAX);
    size_t file_room = most_bytes(file, FILE_MAX_BYTES);
    size_t table_len = table && PyBytes_Check(table) ? (size_t)PyBytes_GET_SIZE(table) : 0;
    if (table_len > TABLE_MAX_BYTES)
        table_len = TABLE_MAX_BYTES;
    sonde_rec_code *out =
        sonde_ring_reserve(&thread->ring, sizeof *out + name_room + file_room + table_len);
    if (!out)
        return false;
    char *text = (char *)(out + 1);
    *out = (sonde_rec_code){.rec.kind = SONDE_REC_CODE,
                            .id = id,
                            .first_line = (uint32_t)code->co_firstlineno,
                            .table_len = (uint32_t)table_len};
    out->name_len = utf8_of(name, text, name_room);
    out->file_len = utf8_of(file, text + out->name_len, file_room);
    if (table_len)
        memcpy(text + out->name_len + out->file_len, PyBytes_AS_STRING(table), table_len);
    size_t size = sonde_round8(sizeof *out + out->name_len + out->file_len + table_len);
    out->rec.size = (uint32_t)size;
    sonde_ring_commit(&thread->ring, size);
    return true;
}

uint64_t sonde_describe_code(sonde_thread *thread, PyCodeObject *code)
{
    bool fresh;
    uint64_t id = sonde_seen_add(sonde.seen, code, &fresh);
    if (!id) {
        atomic_fetch_add(&sonde.header->unnamed, 1);
        return 0;
    }
    if (fresh && !write_code(thread, code, id)) {
        sonde_seen_remove(sonde.seen, code); // the next one who sees it tries again
        return 0;
    }
    return id;
}

void sonde_write_thread_name(sonde_thread *to, PyObject *thread_object, PyObject *name)
{
    char text[SONDE_NAME_MAX + 1];
    uint32_t n = utf8_of(name, text, SONDE_NAME_MAX);
    text[n] = 0;
    // Before a thread starts, or by itself for all its life. Its object may be freed and another be
    // in the same place before the recorder reads this.
    uint64_t since = to == sonde.notes ? sonde_now() : to->slot->claimed_ns;
    sonde_write_thread(&to->ring, (uint64_t)(uintptr_t)thread_object, text, since);
}

void sonde_describe_thread(PyObject *thread_object, PyObject *name)
{
    // Written into a slot of its own: the caller's ring belongs to its signal handler.
    sonde_thread *notes = sonde_notes_enter();
    if (!notes)
        return;
    sonde_write_thread_name(notes, thread_object, name);
    sonde_notes_leave();
}

// tp_dealloc rather than PyCode_AddWatcher (3.12+): watchers are per interpreter and only eight,
// and code objects of sub-interpreters die too.
static destructor real_dealloc;

static void on_code_death(PyObject *code)
{
    if (atomic_load_explicit(&sonde.generation, memory_order_relaxed) &&
        sonde_seen_remove(sonde.seen, code))
        atomic_fetch_add(&sonde.deaths, 1);
    real_dealloc(code);
}

void sonde_watch_code(void)
{
    if (PyCode_Type.tp_dealloc == on_code_death)
        return;
    real_dealloc = PyCode_Type.tp_dealloc;
    PyCode_Type.tp_dealloc = on_code_death;
}

void sonde_unwatch_code(void)
{
    if (PyCode_Type.tp_dealloc == on_code_death)
        PyCode_Type.tp_dealloc = real_dealloc;
}
