// Slots are ours from hook to unhook, and exactly as before afterwards.
//
// test_got NOW LAZY: two builds of got_object.c, bound at load with full RELRO, and lazily.
#define _GNU_SOURCE
#include "core/hooks/got.h"

#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int function(void);

typedef struct {
    const char *name;
    function *getppid_, *getpid_;
    function *(*take)(void);
} object;

static object load(const char *path)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(handle);
    object o = {.name = strrchr(path, '/') + 1};
    o.getppid_ = (function *)dlsym(handle, "call_getppid");
    o.getpid_ = (function *)dlsym(handle, "call_getpid");
    o.take = (function * (*)(void)) dlsym(handle, "take_getppid");
    CHECK(o.getppid_ && o.getpid_ && o.take);
    return o;
}

static object now, lazy;
static const char *lazy_path;

static int our_getppid(void) { return 424242; }
static const sonde_hook one[] = {{"getppid", (void *)our_getppid}};

// ---- the slots of an object, found without the code under test

typedef struct {
    const char *name;
    void **slots[8];
    int count;
    uintptr_t relro_start, relro_end;
} found;

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    found *f = arg;
    if (!strstr(info->dlpi_name, f->name))
        return 0;
    const Elf64_Dyn *d = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_DYNAMIC)
            d = (const Elf64_Dyn *)(info->dlpi_addr + p->p_vaddr);
        else if (p->p_type == PT_GNU_RELRO) {
            f->relro_start = info->dlpi_addr + p->p_vaddr;
            f->relro_end = f->relro_start + p->p_memsz;
        }
    }
    const Elf64_Rela *tables[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0};
    const Elf64_Sym *symbols = NULL;
    const char *strings = NULL;
    for (; d && d->d_tag; d++) {
        if (d->d_tag == DT_JMPREL)
            tables[0] = (void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_RELA)
            tables[1] = (void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_PLTRELSZ)
            sizes[0] = d->d_un.d_val;
        else if (d->d_tag == DT_RELASZ)
            sizes[1] = d->d_un.d_val;
        else if (d->d_tag == DT_SYMTAB)
            symbols = (void *)d->d_un.d_ptr;
        else if (d->d_tag == DT_STRTAB)
            strings = (void *)d->d_un.d_ptr;
    }
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < sizes[t] / sizeof(Elf64_Rela); i++) {
            const Elf64_Rela *r = &tables[t][i];
            if (strcmp(strings + symbols[ELF64_R_SYM(r->r_info)].st_name, "getppid") == 0)
                f->slots[f->count++] = (void **)(info->dlpi_addr + r->r_offset);
        }
    return 1;
}

static found slots_of(const object *o)
{
    found f = {.name = o->name};
    dl_iterate_phdr(find, &f);
    CHECK(f.count >= 1);
    return f;
}

// Is the page of this address writable, as the kernel has it?
static bool writable(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    char line[512], rights[5];
    unsigned long start, end;
    bool answer = false;
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3 && (uintptr_t)address >= start &&
            (uintptr_t)address < end)
            answer = rights[1] == 'w';
    fclose(maps);
    return answer;
}

// ---- tests

static void calls_of_one_object_are_hooked(const object *o, const object *other)
{
    found before = slots_of(o);
    void *values[8];
    for (int i = 0; i < before.count; i++)
        values[i] = *before.slots[i];
    bool protected = !writable(before.slots[0]);
    CHECK(sonde_got_hook(NULL, o->name, one, 1) >= before.count);
    CHECK_EQUAL(o->getppid_(), 424242);
    CHECK_EQUAL(o->take()(), 424242);
    CHECK_EQUAL(o->getpid_(), getpid()); // not asked for
    CHECK_EQUAL(other->getppid_(), getppid());
    CHECK_EQUAL(writable(before.slots[0]), !protected);
    sonde_got_unhook();
    CHECK_EQUAL(o->getppid_(), getppid());
    CHECK(o->take()() == getppid());
    CHECK_EQUAL(writable(before.slots[0]), !protected);
    for (int i = 0; i < before.count; i++)
        CHECK(protected ? *before.slots[i] == values[i] : *before.slots[i] != (void *)our_getppid);
}

static void both_kinds_of_objects(void)
{
    CHECK(!writable(slots_of(&now).slots[0])); // else full RELRO is not what is tested
    CHECK(writable(slots_of(&lazy).slots[0]));
    calls_of_one_object_are_hooked(&now, &lazy);
    calls_of_one_object_are_hooked(&lazy, &now);
    calls_of_one_object_are_hooked(&now, &lazy); // and once more
    calls_of_one_object_are_hooked(&lazy, &now);
}

static void an_address_inside_finds_the_object(void)
{
    CHECK(sonde_got_hook((const void *)now.getpid_, NULL, one, 1) > 0);
    CHECK_EQUAL(now.getppid_(), 424242);
    CHECK_EQUAL(lazy.getppid_(), getppid());
    sonde_got_unhook();
    CHECK_EQUAL(now.getppid_(), getppid());
}

static void hooking_again_changes_nothing(void)
{
    int hooked = sonde_got_hook(NULL, now.name, one, 1);
    CHECK_EQUAL(sonde_got_hook(NULL, now.name, one, 1), hooked);
    CHECK(sonde_got_hook(NULL, lazy.name, one, 1) > hooked); // a library that was loaded later
    CHECK_EQUAL(now.getppid_(), 424242);
    CHECK_EQUAL(lazy.getppid_(), 424242);
    sonde_got_unhook();
    CHECK_EQUAL(now.getppid_(), getppid());
    CHECK_EQUAL(lazy.getppid_(), getppid());
    CHECK_EQUAL(sonde_got_hook(NULL, "no such object", one, 1), 0);
    sonde_got_unhook(); // nothing to do
}

// A thread that was resolving the call when we hooked puts the function itself over our hook.
static void an_overwritten_hook_is_put_back(void)
{
    found slots = slots_of(&lazy);
    sonde_got_hook(NULL, lazy.name, one, 1);
    for (int i = 0; i < slots.count; i++)
        *slots.slots[i] = (void *)getppid;
    CHECK_EQUAL(lazy.getppid_(), getppid());
    sonde_got_hook(NULL, "no such object", one, 1);
    CHECK_EQUAL(lazy.getppid_(), 424242);
    sonde_got_unhook();
    CHECK_EQUAL(lazy.getppid_(), getppid());
}

static int their_getppid(void) { return 777; }

static void what_others_hooked_since_stays(void)
{
    found slots = slots_of(&lazy);
    sonde_got_hook(NULL, lazy.name, one, 1);
    for (int i = 0; i < slots.count; i++)
        *slots.slots[i] = (void *)their_getppid;
    sonde_got_unhook();
    CHECK_EQUAL(lazy.getppid_(), 777);
    for (int i = 0; i < slots.count; i++)
        *slots.slots[i] = (void *)getppid;
}

static void all_objects_but_our_own(void)
{
    CHECK(sonde_got_hook(NULL, "", one, 1) > 1);
    CHECK_EQUAL(now.getppid_(), 424242);
    CHECK_EQUAL(lazy.getppid_(), 424242);
    CHECK(getppid() != 424242); // a hook that calls what it hooks must not come back to itself
    sonde_got_unhook();
    CHECK_EQUAL(now.getppid_(), getppid());
}

static _Atomic bool done;

static void *call(void *arg)
{
    (void)arg;
    int real = getppid();
    uint64_t ours = 0;
    while (!atomic_load(&done)) {
        int a = now.getppid_(), b = lazy.getppid_();
        CHECK(a == real || a == 424242);
        CHECK(b == real || b == 424242);
        ours += a == 424242;
    }
    return (void *)(uintptr_t)ours;
}

static void hooks_come_and_go_under_calls(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, call, NULL) == 0);
    for (int i = 0; i < 2000; i++) {
        CHECK(sonde_got_hook(NULL, "got_", one, 1) >= 2);
        CHECK_EQUAL(now.getppid_(), 424242);
        if (i % 16 == 0)
            usleep(100);
        sonde_got_unhook();
        CHECK_EQUAL(now.getppid_(), getppid());
    }
    atomic_store(&done, true);
    uintptr_t seen = 0;
    for (int i = 0; i < 4; i++) {
        void *ours;
        pthread_join(threads[i], &ours);
        seen += (uintptr_t)ours;
    }
    CHECK(seen > 0);
}

static const char *wanted_name;

static bool is_wanted(const char *file, uintptr_t start, uintptr_t end)
{
    CHECK(start < end);
    return strstr(file, wanted_name) != NULL;
}

// Such an object may be unloaded while its slots are hooked: nothing is written where they were.
static void an_object_may_be_unloaded(void)
{
    char copy[] = "/tmp/sonde-got-XXXXXX";
    int from = open(lazy_path, O_RDONLY), to = mkstemp(copy);
    CHECK(from >= 0 && to >= 0);
    char part[65536];
    for (ssize_t n; (n = read(from, part, sizeof part)) > 0;)
        CHECK(write(to, part, (size_t)n) == n);
    close(from);
    close(to);
    sonde_loaded_objects loaded = sonde_got_loaded();
    void *handle = dlopen(copy, RTLD_LAZY | RTLD_LOCAL);
    CHECK(handle);
    CHECK(loaded.added > 0 && sonde_got_loaded().added > loaded.added);
    wanted_name = strrchr(copy, '/') + 1;
    int before = sonde_got_hook_all(is_wanted, one, 0);
    CHECK(sonde_got_hook_all(is_wanted, one, 1) > before);
    function *call_it = (function *)dlsym(handle, "call_getppid");
    CHECK_EQUAL(call_it(), 424242);
    CHECK_EQUAL(dlclose(handle), 0);
    CHECK(!dlopen(copy, RTLD_NOLOAD | RTLD_LAZY));
    CHECK(sonde_got_loaded().removed > loaded.removed);
    unlink(copy);
    CHECK_EQUAL(sonde_got_hook_all(is_wanted, one, 1), before);
    sonde_got_unhook();
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    now = load(argv[1]);
    lazy = load(argv[2]);
    lazy_path = argv[2];
    RUN(both_kinds_of_objects);
    RUN(an_address_inside_finds_the_object);
    RUN(hooking_again_changes_nothing);
    RUN(an_overwritten_hook_is_put_back);
    RUN(what_others_hooked_since_stays);
    RUN(all_objects_but_our_own);
    RUN(hooks_come_and_go_under_calls);
    RUN(an_object_may_be_unloaded);
    return 0;
}
