// Where no agent can be injected: the same reader, but from the recorder's process, reading the
// target's memory with process_vm_readv. Built per CPython version like the agent, without needing
// one: it takes from the headers only where things lie.
//
// The stack of a thread is copied piece by piece (frames lie in few chunks of memory) and walked in
// the copy, and the code objects it runs are read in one call, each once: the overhead is in the
// number of calls. A code object is identified by its address and its content, because no event
// reports that one dies and another takes its place. Nor can a frame be distinguished from the next
// one in its place (walk_marks.h) without writing into the target, which we do not: every sample is
// walked whole.
#define _GNU_SOURCE
#include "core/base/hash.h"
#include "core/protocol/handshake.h"
#include "core/sampling/reader_thread.h"
#include "core/session/records.h"
#include "core/signals/fault_guard.h"
#include "cpython/frames/frames.h"

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

static bool read_memory(void *to, uintptr_t from, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)from, size};
    return process_vm_readv(target, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static bool read_word(uintptr_t from, uintptr_t *to) { return read_memory(to, from, sizeof *to); }

// ---- threads

static int list(sonde_thread_ref *out, int room)
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
                out[n++] = (sonde_thread_ref){(uint32_t)tid, (void *)thread};
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

#define MAX_PIECES 64

typedef struct {
    uintptr_t start;
    size_t size;
    const uint8_t *copy;
} piece_t;

static uint8_t room[CHUNK_MAX];
static piece_t pieces[MAX_PIECES];
static int copied;

static void copy_pieces(const PyThreadState *state)
{
    const size_t head = offsetof(_PyStackChunk, data);
    uintptr_t at = (uintptr_t)state->datastack_chunk;
    size_t used = (uintptr_t)state->datastack_top - at, filled = 0;
    for (copied = 0; at && copied < MAX_PIECES;) {
        if ((at & 7) || used < head || used > CHUNK_MAX - filled ||
            !read_memory(room + filled, at, used))
            return;
        pieces[copied++] = (piece_t){at, used, room + filled};
        at = (uintptr_t)((const _PyStackChunk *)(room + filled))->previous;
        filled += (used + 7) & ~(size_t)7;
        _PyStackChunk next;
        if (!at || !read_memory(&next, at, head) || next.top > CHUNK_MAX / sizeof(PyObject *))
            return;
        used = head + next.top * sizeof(PyObject *);
    }
}

static const frame_t *frame_at(uintptr_t at, frame_t *own)
{
    for (int i = 0; i < copied; i++) {
        const piece_t *p = &pieces[i];
        if (p->size >= sizeof *own && at - p->start <= p->size - sizeof *own)
            return (const frame_t *)(p->copy + (at - p->start));
    }
    return read_memory(own, at, sizeof *own) ? own : NULL;
}

// ---- the code objects of a stack

#define CODE_HEAD offsetof(PyCodeObject, co_code_adaptive)
#define PLACES (4 * SONDE_MAX_DEPTH)

static PyCodeObject codes[SONDE_MAX_DEPTH];
static uintptr_t code_at[SONDE_MAX_DEPTH];
static uint64_t code_ids[SONDE_MAX_DEPTH];
static uint32_t n_codes;
static struct {
    uint32_t walk, code;
} places[PLACES];
static uint32_t walks;

// Its number among those of this stack, -1 if they are too many.
static int number_of(uintptr_t address)
{
    uint32_t place = (uint32_t)(sonde_hash(address >> 4) >> 40) % PLACES;
    while (places[place].walk == walks) {
        if (code_at[places[place].code] == address)
            return (int)places[place].code;
        place = (place + 1) % PLACES;
    }
    if (n_codes == SONDE_MAX_DEPTH)
        return -1;
    places[place].walk = walks;
    places[place].code = n_codes;
    code_at[n_codes] = address;
    return (int)n_codes++;
}

static bool read_codes(void)
{
    enum { AT_ONCE = 256 }; // the kernel takes 1,024
    struct iovec local[AT_ONCE], remote[AT_ONCE];
    for (uint32_t from = 0; from < n_codes; from += AT_ONCE) {
        uint32_t n = n_codes - from < AT_ONCE ? n_codes - from : AT_ONCE;
        for (uint32_t i = 0; i < n; i++) {
            local[i] = (struct iovec){&codes[from + i], CODE_HEAD};
            remote[i] = (struct iovec){(void *)code_at[from + i], CODE_HEAD};
        }
        if (process_vm_readv(target, local, n, remote, n, 0) != (ssize_t)(n * CODE_HEAD))
            return false;
        for (uint32_t i = 0; i < n; i++)
            if ((uintptr_t)Py_TYPE(&codes[from + i]) != code_type)
                return false;
    }
    memset(code_ids, 0, n_codes * sizeof *code_ids);
    return true;
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

typedef struct {
    uintptr_t instr;
    int code;
    bool of_generator;
} visited_t;

static visited_t visited[2 * SONDE_MAX_DEPTH];

// The frames from the top down, -1 if they cannot be believed.
static int visit(const PyThreadState *state, bool *cut)
{
    int n = 0;
    uintptr_t at = top_of(state);
    if (++walks == 0)
        walks = 1;
    n_codes = 0;
    *cut = false;
    for (int hops = 0; at; hops++) {
        frame_t own;
        const frame_t *f;
        if ((at & 7) || hops > MAX_HOPS || !(f = frame_at(at, &own)) ||
            (unsigned char)f->owner > FRAME_OWNER_LAST)
            return -1;
        at = (uintptr_t)f->previous;
        if (frame_is_shim(f))
            continue;
        uintptr_t address = (uintptr_t)frame_code(f);
        if (!address || (address & 7))
            return -1;
        int code = n < 2 * SONDE_MAX_DEPTH ? number_of(address) : -1;
        if (code < 0) {
            *cut = true;
            break;
        }
        visited[n++] =
            (visited_t){(uintptr_t)frame_instr(f), code, f->owner == FRAME_OWNED_BY_GENERATOR};
    }
    return n;
}

static uint32_t walk(sonde_thread *to, void *where, sonde_event *event)
{
    static PyThreadState state;
    if (!read_memory(&state, (uintptr_t)where, sizeof state))
        return undecodable(event);
    copy_pieces(&state);
    uintptr_t id;
    if (read_word((uintptr_t)state.interp + offsetof(PyInterpreterState, id), &id))
        event->interpreter = (uint32_t)id;
    bool cut;
    int n = visit(&state, &cut);
    if (n < 0 || !read_codes())
        return undecodable(event);
    uint64_t *out = sonde_stack(to);
    uint32_t depth = 0;
    for (int i = 0; i < n; i++) {
        const visited_t *v = &visited[i];
        const PyCodeObject *code = &codes[v->code];
        Py_ssize_t index = ((intptr_t)v->instr - (intptr_t)(code_at[v->code] + CODE_HEAD)) /
                           (Py_ssize_t)sizeof(_Py_CODEUNIT);
        if (index < -1 || index > Py_SIZE(code))
            return undecodable(event);
        if (!v->of_generator && index < code->_co_firsttraceable)
            continue;
        if (depth == SONDE_MAX_DEPTH) {
            cut = true;
            break;
        }
        uint64_t *known = &code_ids[v->code];
        if (!*known && !(*known = identify(to, code_at[v->code], code)))
            return undecodable(event);
        out[depth++] = *known << SONDE_INSTR_BITS | ((uint64_t)(index + 1) & SONDE_INSTR_MASK);
    }
    if (cut)
        event->flags |= SONDE_TRUNCATED;
    to->slot->frames += depth;
    to->slot->visited += depth;
    return depth;
}

static const void *top(void *where)
{
    static PyThreadState state;
    if (!read_memory(&state, (uintptr_t)where, sizeof state))
        return NULL;
    return (void *)top_of(&state);
}

static const sonde_reader_ops there = {list, cpu, proc, walk, top, NULL};

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
    sonde_link link = {0};
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
