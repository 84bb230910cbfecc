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
    bool protected; // the page is read-only since the loader was done (full RELRO)
    bool may_go;    // its object may be unloaded
    bool is_there;  // it was not, when that was last looked for
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
                           .protected =
                               (uintptr_t)at >= o->relro_start && (uintptr_t)at < o->relro_end,
                           .may_go = r->wanted};
            if (write_slot(&slot, slot.original, slot.hook))
                slots[known++] = slot;
            else
                r->failed = true;
        }
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    request *r = arg;
    object_t o = {.base = info->dlpi_addr};
    const Elf64_Dyn *dynamic = NULL;
    bool wanted = r->named && strstr(info->dlpi_name, r->named);
    uintptr_t first = UINTPTR_MAX, last = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && start < first)
            first = start;
        if (p->p_type == PT_LOAD && start + p->p_memsz > last)
            last = start + p->p_memsz;
        if (p->p_type == PT_LOAD && r->inside && (uintptr_t)r->inside - start < p->p_memsz)
            wanted = true;
        else if (p->p_type == PT_DYNAMIC)
            dynamic = (const Elf64_Dyn *)start;
        else if (p->p_type == PT_GNU_RELRO) {
            uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
            o.relro_start = start & ~(page - 1);
            o.relro_end = (start + p->p_memsz) & ~(page - 1);
        }
    }
    if (r->wanted)
        wanted = r->wanted(info->dlpi_name, first, last);
    if (!wanted || !dynamic)
        return 0;
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

static int find_slots(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + p->p_vaddr;
        for (size_t s = 0; s < known && p->p_type == PT_LOAD; s++)
            slots[s].is_there |= (uintptr_t)slots[s].at - start < p->p_memsz;
    }
    return 0;
}

// How many objects were unloaded since the process began.
static int count_unloaded(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_subs;
    return 1; // every object has the same
}

// Forgets the slots of objects that were unloaded. Where that cannot be found out, those that may
// have been stay as they are.
static void forget_unloaded(void)
{
    static unsigned long long last;
    unsigned long long unloaded = 0;
    size_t left = 0, any = 0;
    if (!list_is_lost)
        dl_iterate_phdr(count_unloaded, &unloaded);
    if (!list_is_lost && unloaded == last)
        return;
    last = unloaded;
    for (size_t i = 0; i < known; i++) {
        slots[i].is_there = !slots[i].may_go;
        any += slots[i].may_go;
    }
    if (any && !list_is_lost)
        dl_iterate_phdr(find_slots, NULL);
    for (size_t i = 0; i < known; i++)
        if (slots[i].is_there)
            slots[left++] = slots[i];
    known = left;
}

static int hook(request r)
{
    take(-1);
    forget_unloaded();
    if (!list_is_lost)
        dl_iterate_phdr(visit, &r);
    // Where calls are bound lazily, a thread that was just resolving one may have put the function
    // itself over our hook.
    for (size_t i = 0; i < known; i++)
        if (*slots[i].at != slots[i].hook)
            write_slot(&slots[i], *slots[i].at, slots[i].hook);
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

static void unhook(const void *only)
{
    take(-1);
    forget_unloaded();
    size_t left = 0;
    for (size_t i = 0; i < known; i++) {
        if (only ? slots[i].hook == only : !slots[i].stays)
            write_slot(&slots[i], slots[i].hook, slots[i].original);
        else
            slots[left++] = slots[i];
    }
    known = left;
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
