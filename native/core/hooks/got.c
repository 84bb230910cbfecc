#define _GNU_SOURCE
#include "core/hooks/got.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_SLOTS 8192

typedef struct {
    void **at;
    void *original, *hook;
    bool stays;
    bool loaded;    // the object it lies in is there, as far as the last look goes
    bool protected; // the page is read-only since the loader was done (full RELRO)
} slot_t;

static slot_t slots[MAX_SLOTS];
static size_t known;

// A thread that looks for slots or changes them, or forks, holds this. It is a matter of a
// millisecond; a fork that has waited long enough for it continues without, since it may hold what
// we wait for.
#define PAUSE_NS 50000
#define FORK_TRIES 2000
static _Atomic bool taken;
static bool list_is_lost; // in a child that was forked all the same
static _Thread_local bool forks __attribute__((tls_model("initial-exec")));

static bool take(int tries)
{
    struct timespec pause = {0, PAUSE_NS};
    for (int i = 0; tries < 0 || i < tries; i++) {
        bool free_ = false;
        if (atomic_compare_exchange_strong(&taken, &free_, true))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void sonde_got_before_fork(void)
{
    int saved = errno;
    forks = take(FORK_TRIES);
    errno = saved;
}

void sonde_got_after_fork(void)
{
    if (forks)
        atomic_store(&taken, false);
    forks = false;
}

void sonde_got_forked(void)
{
    list_is_lost = !forks && atomic_load(&taken);
    atomic_store(&taken, false);
    forks = false;
}

typedef struct {
    const void *inside;
    const char *named;
    sonde_got_wanted *wanted;
    const sonde_hook *hooks;
    size_t count;
    bool failed;
} request;

typedef struct {
    uintptr_t base, relro_start, relro_end;
    uintptr_t start, end; // of what is mapped
    const Elf64_Dyn *dynamic;
    const Elf64_Sym *symbols;
    const char *strings;
} object_t;

static bool write_slot(const slot_t *slot, void *expected, void *value)
{
    if (*slot->at != expected)
        return true;
    uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)((uintptr_t)slot->at & ~(size - 1));
    if (slot->protected && mprotect(page, size, PROT_READ | PROT_WRITE) != 0)
        return false;
    // Other threads call through the slot at this moment: one store, and only over what we know.
    __atomic_compare_exchange_n(slot->at, &expected, value, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    if (slot->protected)
        mprotect(page, size, PROT_READ);
    return true;
}

static bool is_hooked(void **at)
{
    for (size_t i = 0; i < known; i++)
        if (slots[i].at == at)
            return true;
    return false;
}

static void hook_table(const object_t *o, const Elf64_Rela *table, size_t size, request *r)
{
    for (size_t i = 0; i < size / sizeof *table; i++) {
        unsigned type = (unsigned)ELF64_R_TYPE(table[i].r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        const char *name = o->strings + o->symbols[ELF64_R_SYM(table[i].r_info)].st_name;
        for (size_t h = 0; h < r->count; h++) {
            if (strcmp(name, r->hooks[h].name) != 0)
                continue;
            void **at = (void **)(o->base + table[i].r_offset);
            // A weak reference that was not resolved is a question, too.
            if (is_hooked(at) || known == MAX_SLOTS || !*at)
                continue;
            slot_t slot = {.at = at,
                           .original = *at,
                           .hook = r->hooks[h].hook,
                           .loaded = true,
                           .protected =
                               (uintptr_t)at >= o->relro_start && (uintptr_t)at < o->relro_end};
            if (write_slot(&slot, slot.original, slot.hook))
                slots[known++] = slot;
            else
                r->failed = true;
        }
    }
}

static object_t object_of(const struct dl_phdr_info *info)
{
    object_t o = {.base = info->dlpi_addr, .start = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;
        if (p->p_type == PT_LOAD) {
            o.start = start < o.start ? start : o.start;
            o.end = end > o.end ? end : o.end;
        } else if (p->p_type == PT_DYNAMIC) {
            o.dynamic = (const Elf64_Dyn *)start;
        } else if (p->p_type == PT_GNU_RELRO) {
            uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
            o.relro_start = start & ~(page - 1);
            o.relro_end = end & ~(page - 1);
        }
    }
    return o;
}

static bool lies_in(const object_t *o, const void *at)
{
    return (uintptr_t)at >= o->start && (uintptr_t)at < o->end;
}

// Where calls are bound lazily, a thread that was just resolving one may have put the function
// itself over our hook.
static void hook_again(const object_t *o)
{
    for (size_t i = 0; i < known; i++) {
        if (!lies_in(o, slots[i].at))
            continue;
        slots[i].loaded = true;
        if (*slots[i].at != slots[i].hook)
            write_slot(&slots[i], *slots[i].at, slots[i].hook);
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    request *r = arg;
    object_t o = object_of(info);
    hook_again(&o);
    bool wanted = r->inside   ? lies_in(&o, r->inside)
                  : r->wanted ? r->wanted(info->dlpi_name, o.start, o.end)
                              : strstr(info->dlpi_name, r->named) && !lies_in(&o, slots);
    if (!wanted || !o.dynamic)
        return 0;
    const Elf64_Dyn *dynamic = o.dynamic;
    const Elf64_Rela *calls = NULL, *data = NULL;
    size_t calls_size = 0, data_size = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) {
        case DT_JMPREL:
            calls = (const Elf64_Rela *)dynamic->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            calls_size = dynamic->d_un.d_val;
            break;
        case DT_RELA:
            data = (const Elf64_Rela *)dynamic->d_un.d_ptr;
            break;
        case DT_RELASZ:
            data_size = dynamic->d_un.d_val;
            break;
        case DT_SYMTAB:
            o.symbols = (const Elf64_Sym *)dynamic->d_un.d_ptr;
            break;
        case DT_STRTAB:
            o.strings = (const char *)dynamic->d_un.d_ptr;
            break;
        }
    }
    if (!o.symbols || !o.strings)
        return 0;
    if (calls)
        hook_table(&o, calls, calls_size, r);
    if (data)
        hook_table(&o, data, data_size, r);
    return 0;
}

// Libraries that are unloaded take their slots with them.
static void drop_unloaded(void)
{
    size_t left = 0;
    for (size_t i = 0; i < known; i++)
        if (slots[i].loaded)
            slots[left++] = slots[i];
    known = left;
}

static void forget_loaded(void)
{
    for (size_t i = 0; i < known; i++)
        slots[i].loaded = false;
}

static int hook(request r)
{
    take(-1);
    if (!list_is_lost) {
        forget_loaded();
        dl_iterate_phdr(visit, &r);
        drop_unloaded();
    }
    int hooked = r.failed ? -1 : (int)known;
    atomic_store(&taken, false);
    return hooked;
}

int sonde_got_hook(const void *inside, const char *named, const sonde_hook *hooks, size_t count)
{
    return hook((request){inside, named, NULL, hooks, count, false});
}

int sonde_got_hook_all(sonde_got_wanted *wanted, const sonde_hook *hooks, size_t count)
{
    return hook((request){NULL, NULL, wanted, hooks, count, false});
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(sonde_loaded_objects *)arg = (sonde_loaded_objects){info->dlpi_adds, info->dlpi_subs};
    return 1; // every object has the same
}

sonde_loaded_objects sonde_got_loaded(void)
{
    sonde_loaded_objects loaded = {0, 0};
    take(-1);
    if (!list_is_lost)
        dl_iterate_phdr(count_loaded, &loaded);
    atomic_store(&taken, false);
    return loaded;
}

void sonde_got_each_object(int (*look)(struct dl_phdr_info *, size_t, void *), void *arg)
{
    take(-1);
    if (!list_is_lost)
        dl_iterate_phdr(look, arg);
    atomic_store(&taken, false);
}

static bool is_left(const slot_t *slot, const void *only)
{
    return only ? slot->hook != only : slot->stays;
}

// While the loader's list is looked at, no object goes away.
static int visit_to_unhook(struct dl_phdr_info *info, size_t size, void *only)
{
    (void)size;
    object_t o = object_of(info);
    for (size_t i = 0; i < known; i++) {
        if (!lies_in(&o, slots[i].at))
            continue;
        slots[i].loaded = is_left(&slots[i], only);
        if (!slots[i].loaded)
            write_slot(&slots[i], slots[i].hook, slots[i].original);
    }
    return 0;
}

static void unhook(const void *only)
{
    take(-1);
    if (!list_is_lost) { // else they stay, and do their work alone
        forget_loaded();
        dl_iterate_phdr(visit_to_unhook, (void *)(uintptr_t)only);
        drop_unloaded();
    }
    atomic_store(&taken, false);
}

void sonde_got_keep(const void *hook)
{
    take(-1);
    for (size_t i = 0; i < known; i++)
        slots[i].stays |= slots[i].hook == hook;
    atomic_store(&taken, false);
}

void sonde_got_unhook(void) { unhook(NULL); }

void sonde_got_unhook_one(const void *hook) { unhook(hook); }
