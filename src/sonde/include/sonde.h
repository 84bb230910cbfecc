/* What C and C++ code states to a recording of the process it runs in: spans, marks, pauses.
 *
 * Nothing has to be linked. Without an agent of sonde in the process a call is one load and one
 * branch, and does nothing. C99 or C++, GCC or Clang, x86-64 Linux; elsewhere nothing happens.
 *
 *     sonde_span work = sonde_span_begin("checkout");
 *     sonde_span_set(work, "order", "42");
 *     sonde_span_end(work);
 *
 *     {
 *         SONDE_SPAN("render"); // ends with the block
 *     }
 */
#ifndef SONDE_H
#define SONDE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint64_t task_clock_ns, minor_faults, major_faults, context_switches;
} sonde_thread_counts;

/* What an agent offers. Members are only ever added, at the end. */
struct sonde_agent_calls {
    uint32_t size;
    uint32_t (*begin)(const char *name, size_t length, uint32_t within);
    void (*end)(uint32_t number);
    void (*attribute)(uint32_t number, const char *text, size_t length);
    void (*mark)(const char *text, size_t length);
    void (*control)(int pause);
    size_t (*ask)(const char *command, char *answer, size_t size);
    int (*count)(sonde_thread_counts *counts);
};

/* ELF notes by which an agent finds the code that uses this header, and the other way round. */
#define SONDE_NOTE_NAME "sonde"
#define SONDE_NOTE_USER 1
#define SONDE_NOTE_AGENT 2

#ifdef __cplusplus
}
#endif

#ifndef SONDE_AGENT_ITSELF

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    uint32_t number; /* 0: not recorded */
} sonde_span;

#if defined(__linux__) && defined(__x86_64__) && defined(__GNUC__)

#include <elf.h>

/* One for each shared object; agents set and clear it. */
extern const struct sonde_agent_calls *sonde_agent_here;
__attribute__((weak, used, visibility("hidden"))) const struct sonde_agent_calls *sonde_agent_here =
    NULL;

__asm__(".pushsection .note.sonde, \"a\", @note\n"
        ".balign 4\n"
        ".long 6, 8, 1\n"
        ".asciz \"sonde\"\n"
        ".balign 4\n"
        ".long sonde_agent_here - .\n"
        ".long 0\n"
        ".popsection\n");

static inline const struct sonde_agent_calls *sonde_agent(void)
{
    return __atomic_load_n(&sonde_agent_here, __ATOMIC_ACQUIRE);
}

/* An agent that was there before this code was loaded is found by its note. */
struct sonde_object_ {
    Elf64_Addr base;
    const char *name;
    const Elf64_Phdr *headers;
    Elf64_Half count;
};
extern int sonde_each_object_(int (*visit)(struct sonde_object_ *, size_t, void *),
                              void *unused) __asm__("dl_iterate_phdr");

static inline int sonde_find_agent_in_(struct sonde_object_ *object, size_t size, void *unused)
{
    int i;
    (void)size;
    (void)unused;
    for (i = 0; i < object->count; i++) {
        const Elf64_Phdr *header = &object->headers[i];
        const char *at = (const char *)(object->base + header->p_vaddr);
        const char *end = at + header->p_memsz;
        if (header->p_type != PT_NOTE || header->p_align > 4)
            continue;
        while (end - at >= (ptrdiff_t)sizeof(Elf64_Nhdr)) {
            Elf64_Nhdr note;
            uint64_t length;
            memcpy(&note, at, sizeof note);
            length = sizeof note + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3) +
                     (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
            if ((uint64_t)(end - at) < length)
                break;
            if (note.n_type == SONDE_NOTE_AGENT && note.n_namesz == sizeof SONDE_NOTE_NAME &&
                note.n_descsz == 8 &&
                memcmp(at + sizeof note, SONDE_NOTE_NAME, sizeof SONDE_NOTE_NAME) == 0) {
                const char *place = at + sizeof note + 8;
                int32_t offset;
                const struct sonde_agent_calls *calls;
                memcpy(&offset, place, sizeof offset);
                calls = __atomic_load_n(
                    (const struct sonde_agent_calls *const *)(const void *)(place + offset),
                    __ATOMIC_ACQUIRE);
                if (calls) {
                    __atomic_store_n(&sonde_agent_here, calls, __ATOMIC_RELEASE);
                    return 1;
                }
            }
            at += length;
        }
    }
    return 0;
}

__attribute__((constructor)) static void sonde_find_agent_(void)
{
    if (!sonde_agent())
        sonde_each_object_(sonde_find_agent_in_, NULL);
}

#define SONDE_SPAN_JOIN_(a, b) a##b
#define SONDE_SPAN_NAME_(line) SONDE_SPAN_JOIN_(sonde_span_of_line_, line)
/* A span from here to the end of the block, however it is left. */
#define SONDE_SPAN(name)                                                                           \
    __attribute__((cleanup(sonde_span_leave_), unused)) sonde_span SONDE_SPAN_NAME_(__LINE__) =    \
        sonde_span_begin(name)

#else

static inline const struct sonde_agent_calls *sonde_agent(void) { return NULL; }
#define SONDE_SPAN(name) (void)(name)

#endif

/* Enters a span, which belongs to the calling thread; in a thread of Python that runs Python code,
 * to the Python function that has called this code. */
static inline sonde_span sonde_span_begin(const char *name)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    sonde_span span = {0};
    if (agent)
        span.number = agent->begin(name, strlen(name), 0);
    return span;
}

/* Enters a span of work that the calling thread does for another one's span, which contains it. */
static inline sonde_span sonde_span_begin_part(const char *name, sonde_span of)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    sonde_span span = {0};
    if (agent)
        span.number = agent->begin(name, strlen(name), of.number);
    return span;
}

static inline void sonde_span_end(sonde_span span)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    if (agent && span.number)
        agent->end(span.number);
}

static inline void sonde_span_leave_(sonde_span *span) { sonde_span_end(*span); }

static inline int sonde_span_is_recorded(sonde_span span) { return span.number != 0; }

/* States a fact about a span; the last value of a key counts. A key has no '='; both together are
 * cut to 255 bytes. */
static inline void sonde_span_set(sonde_span span, const char *key, const char *value)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    char text[256];
    size_t key_length, value_length;
    if (!agent || !span.number || strchr(key, '='))
        return;
    key_length = strlen(key);
    value_length = strlen(value);
    if (key_length > sizeof text - 2)
        key_length = sizeof text - 2;
    if (value_length > sizeof text - 1 - key_length)
        value_length = sizeof text - 1 - key_length;
    memcpy(text, key, key_length);
    text[key_length] = '=';
    memcpy(text + key_length + 1, value, value_length);
    agent->attribute(span.number, text, key_length + 1 + value_length);
}

static inline void sonde_span_set_number(sonde_span span, const char *key, int64_t value)
{
    char digits[24], *at = digits + sizeof digits - 1;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (!span.number)
        return;
    *at = 0;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        *--at = '-';
    sonde_span_set(span, key, at);
}

/* Names it by what is known only now. */
static inline void sonde_span_rename(sonde_span span, const char *name)
{
    sonde_span_set(span, "name", name);
}

/* Marks this moment. */
static inline void sonde_mark(const char *text)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    if (agent)
        agent->mark(text, strlen(text));
}

/* Nothing is captured until sonde_resume(), in no process of the recording. */
static inline void sonde_pause(void)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    if (agent)
        agent->control(1);
}

static inline void sonde_resume(void)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    if (agent)
        agent->control(0);
}

/* The functions with the most CPU time, as the JSON object that `sonde ctl PID hot --json` prints.
 * How long it is; 0 if there is no such profile, or no room. */
static inline size_t sonde_hot(char *json, size_t size)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    return agent ? agent->ask("{\"do\": \"hot\", \"by\": \"function\"}", json, size) : 0;
}

/* What the calling thread has used since it was started. 0 if the process is not recorded. */
static inline int sonde_thread_counters(sonde_thread_counts *counts)
{
    const struct sonde_agent_calls *agent = sonde_agent();
    return agent ? agent->count(counts) : 0;
}

#ifdef __cplusplus
}
#endif
#endif
#endif
