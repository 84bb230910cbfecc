// Where no agent may enter: the same reader, but from the recorder's process, reading the target's
// memory with process_vm_readv. Built per CPython version like the agent, without needing one: it
// takes from the headers only where things lie.
//
// The stack of a thread is copied in one piece (frames lie in one chunk of memory) and walked in
// the copy. A code object is known by its address and by what it holds, because nothing tells us
// when one dies and another takes its place.
#define _GNU_SOURCE
#include "../core/guard.h"
#include "../core/handshake.h"
#include "../core/reader.h"
#include "frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define CHUNK_MAX (512u << 10)
#define TEXT_MAX 1024
#define TABLE_MAX (96u << 10)
#define MAX_HOPS (1 << 16)

static pid_t target;
static uintptr_t runtime, code_type;
static char proc[16];
static uint8_t chunk[CHUNK_MAX];

static bool read_memory(void *to, uintptr_t from, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)from, size};
    return process_vm_readv(target, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static bool read_word(uintptr_t from, uintptr_t *to) { return read_memory(to, from, sizeof *to); }

// ---- threads

static int list(sonde_listed *out, int room)
{
    int n = 0;
    uintptr_t interp;
    if (!read_word(runtime + offsetof(_PyRuntimeState, interpreters.head), &interp))
        return -1;
    for (int i = 0; interp && i < 256; i++) {
        uintptr_t thread;
        if (!read_word(interp + offsetof(PyInterpreterState, threads.head), &thread))
            return -1;
        while (thread && n < room) {
            uintptr_t tid;
            if (!read_word(thread + offsetof(PyThreadState, native_thread_id), &tid))
                return -1;
            if (tid)
                out[n++] = (sonde_listed){(uint32_t)tid, (void *)thread};
            if (!read_word(thread + offsetof(PyThreadState, next), &thread))
                return -1;
        }
        if (!read_word(interp + offsetof(PyInterpreterState, next), &interp))
            return -1;
    }
    return n;
}

static uint64_t cpu(uint32_t tid)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%s/task/%u/schedstat", proc, tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return strtoull(text, NULL, 10);
}

// ---- what a code object is

static uint32_t read_text(uintptr_t text, char *to)
{
    // Compact ASCII or Latin-1 only; other names are rare in code, and shown by their length.
    PyASCIIObject head;
    if (!text || !read_memory(&head, text, sizeof head) || !head.state.compact)
        return 0;
    if (!head.state.ascii)
        return (uint32_t)snprintf(to, TEXT_MAX, "[%zd letters]", head.length);
    size_t n = (size_t)head.length < TEXT_MAX ? (size_t)head.length : TEXT_MAX;
    return read_memory(to, text + sizeof head, n) ? (uint32_t)n : 0;
}

static bool describe(sonde_thread *to, const PyCodeObject *code, uint64_t id)
{
    static uint8_t table[TABLE_MAX];
    char name[TEXT_MAX], file[TEXT_MAX];
    uint32_t name_len = read_text((uintptr_t)code->co_qualname, name);
    uint32_t file_len = read_text((uintptr_t)code->co_filename, file);
    PyVarObject head;
    uint32_t table_len = 0;
    if (read_memory(&head, (uintptr_t)code->co_linetable, sizeof head) && head.ob_size > 0) {
        table_len = head.ob_size < (Py_ssize_t)TABLE_MAX ? (uint32_t)head.ob_size : TABLE_MAX;
        if (!read_memory(table, (uintptr_t)code->co_linetable + offsetof(PyBytesObject, ob_sval),
                         table_len))
            return false;
    }
    size_t size = sonde_round8(sizeof(sonde_rec_code) + name_len + file_len + table_len);
    sonde_rec_code *out = sonde_ring_reserve(&to->ring, size);
    if (!out)
        return false;
    *out = (sonde_rec_code){.rec = {.size = (uint32_t)size, .kind = SONDE_REC_CODE},
                            .id = id,
                            .first_line = (uint32_t)code->co_firstlineno,
                            .name_len = name_len,
                            .file_len = file_len,
                            .table_len = table_len};
    char *at = (char *)(out + 1);
    memcpy(at, name, name_len);
    memcpy(at + name_len, file, file_len);
    memcpy(at + name_len + file_len, table, table_len);
    sonde_ring_commit(&to->ring, size);
    return true;
}

static uint64_t identify(sonde_thread *to, uintptr_t address, const PyCodeObject *code)
{
    uint64_t key = address ^ ((uintptr_t)code->co_qualname << 7) ^
                   ((uintptr_t)code->co_linetable << 13) ^ ((uint64_t)code->co_firstlineno << 29);
    bool fresh;
    void *as_pointer = (void *)(uintptr_t)(key & 0x7fffffffffff8u);
    uint64_t id = sonde_seen_add(sonde.seen, as_pointer, &fresh);
    if (id && fresh && !describe(to, code, id)) {
        sonde_seen_remove(sonde.seen, as_pointer);
        return 0;
    }
    return id;
}

// ---- a stack

typedef struct {
    uintptr_t start;
    size_t size;
} copied;

static const frame_t *frame_at(const copied *c, uintptr_t at, frame_t *room)
{
    if (c->size >= sizeof *room && at - c->start <= c->size - sizeof *room)
        return (const frame_t *)(chunk + (at - c->start));
    return read_memory(room, at, sizeof *room) ? room : NULL;
}

static uintptr_t top_of(const PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (uintptr_t)state->current_frame;
#else
    _PyCFrame cframe;
    if (!state->cframe || !read_memory(&cframe, (uintptr_t)state->cframe, sizeof cframe))
        return 0;
    return (uintptr_t)cframe.current_frame;
#endif
}

static uint32_t undecodable(sonde_event *event)
{
    event->flags = SONDE_UNDECODABLE;
    return 0;
}

static uint32_t walk(sonde_thread *to, void *where, sonde_event *event)
{
    static PyThreadState state;
    if (!read_memory(&state, (uintptr_t)where, sizeof state))
        return undecodable(event);
    uintptr_t at = top_of(&state);
    copied c = {(uintptr_t)state.datastack_chunk, 0};
    size_t used = (uintptr_t)state.datastack_top - c.start;
    if (c.start && used <= CHUNK_MAX && read_memory(chunk, c.start, used))
        c.size = used;
    uintptr_t id;
    if (read_word((uintptr_t)state.interp + offsetof(PyInterpreterState, id), &id))
        event->interpreter = (uint32_t)id;
    uint64_t *out = sonde_stack(to);
    uint32_t depth = 0;
    for (int hops = 0; at; hops++) {
        frame_t room;
        const frame_t *f;
        if ((at & 7) || hops > MAX_HOPS || !(f = frame_at(&c, at, &room)) ||
            (unsigned char)f->owner > FRAME_OWNER_LAST)
            return undecodable(event);
        at = (uintptr_t)f->previous;
        if (frame_is_shim(f))
            continue;
        static PyCodeObject code;
        uintptr_t address = (uintptr_t)frame_code(f);
        if (!address || (address & 7) ||
            !read_memory(&code, address, offsetof(PyCodeObject, co_code_adaptive)) ||
            (uintptr_t)Py_TYPE(&code) != code_type)
            return undecodable(event);
        Py_ssize_t index = ((intptr_t)frame_instr(f) -
                            (intptr_t)(address + offsetof(PyCodeObject, co_code_adaptive))) /
                           (Py_ssize_t)sizeof(_Py_CODEUNIT);
        if (index < -1 || index > Py_SIZE(&code))
            return undecodable(event);
        if (f->owner != FRAME_OWNED_BY_GENERATOR && index < code._co_firsttraceable)
            continue;
        if (depth == SONDE_MAX_DEPTH) {
            event->flags |= SONDE_TRUNCATED;
            break;
        }
        uint64_t known = identify(to, address, &code);
        if (!known)
            return undecodable(event);
        out[depth++] = known << SONDE_INSTR_BITS | ((uint64_t)(index + 1) & SONDE_INSTR_MASK);
    }
    return depth;
}

static const void *top(void *where)
{
    static PyThreadState state;
    if (!read_memory(&state, (uintptr_t)where, sizeof state))
        return NULL;
    return (void *)top_of(&state);
}

static const sonde_reader_ops there = {list, cpu, proc, walk, top};

// Samples process `pid` for the recorder at `path`. `runtime_at` and `code_type_at` are the
// addresses of _PyRuntime and PyCode_Type in it. 0 or an errno.
EXPORT int sonde_remote_start(const char *path, uint32_t pid, uint64_t runtime_at,
                              uint64_t code_type_at, uint32_t version_hex)
{
    target = (pid_t)pid;
    runtime = runtime_at;
    code_type = code_type_at;
    snprintf(proc, sizeof proc, "%u", pid);
    uintptr_t probe;
    if (!read_word(runtime, &probe))
        return errno;
    sonde_guard_install();
    sonde_link link;
    int error = sonde_link_open(&link, path, pid, SONDE_REMOTE, SONDE_CPYTHON, version_hex);
    if (error)
        return error;
    error = sonde_session_start(&link.config, link.memfd);
    sonde_arm arm = {0};
    int answered = sonde_link_ready(&link, (uint32_t)error, &arm);
    sonde_link_close(&link);
    error = error ? error : answered;
    if (!error)
        error = sonde_reader_start(&arm, &there);
    if (error)
        sonde_session_stop();
    return error;
}

EXPORT void sonde_remote_stop(void)
{
    sonde_reader_stop();
    sonde_session_stop();
    sonde_guard_remove();
}
