// Libraries that use the header for C programs find the agent whoever comes first, and what they
// state becomes records. Arguments: two such libraries.
#define _GNU_SOURCE
#include "check.h"
#include "core/hooks/spans.h"
#include "core/protocol/program_api.h"
#include "recorder_side.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static const char *paths[2];

typedef struct {
    void *handle;
    int (*agent)(void);
    uint32_t (*span)(const char *name);
    void (*scope)(void);
    uint32_t (*part)(const char *name, uint32_t of);
    void (*end)(uint32_t number);
} library;

static library load(const char *path)
{
    library l = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    CHECK(l.handle);
    *(void **)&l.agent = dlsym(l.handle, "uses_agent");
    *(void **)&l.span = dlsym(l.handle, "uses_span");
    *(void **)&l.scope = dlsym(l.handle, "uses_scope");
    *(void **)&l.part = dlsym(l.handle, "uses_part");
    *(void **)&l.end = dlsym(l.handle, "uses_end");
    CHECK(l.agent && l.span && l.scope && l.part && l.end);
    return l;
}

static bool find_thread(sonde_thread *me, sonde_span_place *place)
{
    place->frame = sonde_span_thread(me->slot->tid);
    place->around = sonde_span_of(place->frame, NULL);
    return true;
}

// The notes in a ring, in words.
static const char *notes_of(const memory *m, uint32_t slot)
{
    static char text[4096];
    text[0] = 0;
    const uint8_t *ring = ring_of(m, slot);
    uint64_t head = atomic_load(&m->slots[slot].head);
    for (uint64_t at = 0; at < head;) {
        const sonde_rec_note *note = (const sonde_rec_note *)(ring + at);
        size_t used = strlen(text);
        if (note->rec.kind == SONDE_REC_NOTE)
            snprintf(text + used, sizeof text - used, "%u:%.*s;", note->rec.state,
                     (int)note->text_len, note->text);
        at += note->rec.size;
    }
    return text;
}

static uint32_t slot_of_self(const memory *m)
{
    sonde_thread *me = sonde_enter();
    CHECK(me);
    uint32_t slot = (uint32_t)(me->slot - sonde.slots);
    sonde_leave(me);
    CHECK(slot < m->config.nslots);
    return slot;
}

static void libraries_find_the_agent(void)
{
    library before = load(paths[0]);
    CHECK(!before.agent());
    CHECK_EQUAL(before.span("nobody"), 0);
    before.scope();
    before.end(0);
    memory m = begin_session(8, 1 << 16);
    sonde_program_offer(find_thread);
    library after = load(paths[1]);
    CHECK(before.agent() && after.agent());
    uint32_t first = before.span("first"), second = after.span("second");
    CHECK(first && second && first != second);
    const void *me = sonde_span_thread((uint32_t)gettid());
    CHECK_EQUAL(sonde_span_of(me, NULL), second);
    before.end(first); // the outer one is left first
    CHECK_EQUAL(sonde_span_of(me, NULL), second);
    after.end(second);
    after.end(second);
    CHECK_EQUAL(sonde_spans_open, 0);
    after.scope();
    const char *wanted = "1:first;4:key=value;4:least=-9223372036854775808;"
                         "1:second;4:key=value;4:least=-9223372036854775808;2:;2:;"
                         "1:scope;1:scope inside;3:mark;2:;2:;";
    CHECK(strcmp(notes_of(&m, slot_of_self(&m)), wanted) == 0);
    dlclose(after.handle);
    after = load(paths[1]);
    CHECK(after.agent());
    dlclose(before.handle); // before the agent is withdrawn
    sonde_program_withdraw();
    CHECK(!after.agent());
    CHECK_EQUAL(after.span("over"), 0);
    sonde_session_stop();
    sonde_spans_forget();
    dlclose(after.handle);
    after = load(paths[1]);
    CHECK(!after.agent());
    dlclose(after.handle);
    drop_memory(&m);
}

// ---- many threads, of which some leave the spans of others

enum { THREADS = 4, ROUNDS = 20000 };
static _Atomic uint32_t handed[THREADS];
static library used;

static void *enters_and_leaves(void *number)
{
    uint32_t mine = *(const uint32_t *)number;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t span = sonde_program_begin("outer", 5, 0);
        uint32_t part = used.part("part", span);
        uint32_t other = atomic_exchange(&handed[(mine + 1) % THREADS], part);
        used.end(span);
        used.end(other);
    }
    return NULL;
}

static void in_many_threads(void)
{
    used = load(paths[0]);
    memory m = begin_session(THREADS + 2, 1 << 20);
    sonde_program_offer(find_thread);
    pthread_t threads[THREADS];
    uint32_t numbers[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, enters_and_leaves, &numbers[i]) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (uint32_t i = 0; i < THREADS; i++)
        used.end(atomic_exchange(&handed[i], 0));
    CHECK_EQUAL(sonde_spans_open, 0);
    sonde_program_withdraw();
    sonde_session_stop();
    drop_memory(&m);
    dlclose(used.handle);
}

int main(int count, char **arguments)
{
    CHECK_EQUAL(count, 3);
    paths[0] = arguments[1];
    paths[1] = arguments[2];
    RUN(libraries_find_the_agent);
    RUN(in_many_threads);
    return 0;
}
