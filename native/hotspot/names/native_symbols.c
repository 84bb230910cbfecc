#define _GNU_SOURCE
#include "hotspot/names/native_symbols.h"

#include "core/base/hot.h"
#include "core/session/name_records.h"
#include "hotspot/names/demangle.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LIBRARIES 512
#define MAX_TEXTS 4

typedef struct { // 8-byte aligned: its address is what the function is known by
    uint64_t start;
    uint32_t size, name;
} function_t;

typedef struct {
    struct {
        uintptr_t from, to;
    } text[MAX_TEXTS];
    uintptr_t base;
    const char *strings;
    size_t strings_size;
    function_t *functions;
    size_t count, functions_mapped;
    void *file;
    size_t file_size;
    char name[64];
} library_t;

static library_t *libraries; // append-only
static _Atomic uint32_t known;
static unsigned long long added; // of libraries, as the loader counts

static int by_start(const void *one, const void *other)
{
    const function_t *a = one, *b = other;
    return (a->start > b->start) - (a->start < b->start);
}

static bool within(const library_t *l, const void *at, size_t size)
{
    size_t offset = (size_t)((const char *)at - (const char *)l->file);
    return offset <= l->file_size && size <= l->file_size - offset;
}

// The table with the most to say: .symtab where the library has kept it, else what it exports.
static const Elf64_Shdr *table_of(const library_t *l, const Elf64_Ehdr *head)
{
    const Elf64_Shdr *sections = (const Elf64_Shdr *)((const char *)l->file + head->e_shoff);
    const Elf64_Shdr *found = NULL;
    if (!within(l, sections, head->e_shnum * sizeof *sections))
        return NULL;
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB ||
            (sections[i].sh_type == SHT_DYNSYM && (!found || found->sh_type != SHT_SYMTAB)))
            if (sections[i].sh_link < head->e_shnum)
                found = &sections[i];
    return found;
}

static void read_functions(library_t *l)
{
    const Elf64_Ehdr *head = l->file;
    if (l->file_size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
        head->e_ident[EI_CLASS] != ELFCLASS64)
        return;
    const Elf64_Shdr *table = table_of(l, head);
    if (!table)
        return;
    const Elf64_Shdr *strings =
        (const Elf64_Shdr *)((const char *)l->file + head->e_shoff) + table->sh_link;
    const Elf64_Sym *symbols = (const Elf64_Sym *)((const char *)l->file + table->sh_offset);
    size_t total = table->sh_size / sizeof *symbols;
    l->strings = (const char *)l->file + strings->sh_offset;
    l->strings_size = strings->sh_size;
    if (!within(l, symbols, total * sizeof *symbols) || !l->strings_size ||
        !within(l, l->strings, l->strings_size) || l->strings[l->strings_size - 1])
        return;
    size_t count = 0;
    for (size_t i = 0; i < total; i++)
        count += ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_size;
    if (!count)
        return;
    l->functions_mapped = count * sizeof(function_t);
    l->functions =
        mmap(NULL, l->functions_mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l->functions == MAP_FAILED) {
        l->functions = NULL;
        return;
    }
    for (size_t i = 0; i < total; i++) {
        const Elf64_Sym *s = &symbols[i];
        if (ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_size && s->st_name < l->strings_size)
            l->functions[l->count++] =
                (function_t){s->st_value, (uint32_t)s->st_size, (uint32_t)s->st_name};
    }
    qsort(l->functions, l->count, sizeof *l->functions, by_start);
}

static void map_file(library_t *l, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat file;
    if (fd < 0)
        return;
    if (fstat(fd, &file) == 0 && file.st_size > 0) {
        void *at = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) {
            l->file = at;
            l->file_size = (size_t)file.st_size;
        }
    }
    close(fd);
}

static bool is_known(uintptr_t text)
{
    for (uint32_t i = 0; i < atomic_load(&known); i++)
        if (libraries[i].text[0].from == text)
            return true;
    return false;
}

typedef struct { // what the loader reports, copied while it holds its lock
    library_t facts;
    char path[512];
} seen_t;

typedef struct {
    seen_t *seen;
    unsigned count, room;
} listing;

static int list(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    listing *all = arg;
    added = info->dlpi_adds;
    if (all->count == all->room)
        return 1;
    seen_t *to = &all->seen[all->count];
    memset(to, 0, sizeof *to);
    unsigned texts = 0;
    for (int i = 0; i < info->dlpi_phnum && texts < MAX_TEXTS; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        to->facts.text[texts].from = from;
        to->facts.text[texts++].to = from + p->p_memsz;
    }
    if (!texts || is_known(to->facts.text[0].from))
        return 0;
    to->facts.base = info->dlpi_addr;
    // The executable itself has no name here.
    const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    snprintf(to->path, sizeof to->path, "%s", path);
    const char *slash = strrchr(path, '/');
    snprintf(to->facts.name, sizeof to->facts.name, "%s", slash ? slash + 1 : path);
    all->count++;
    return 0;
}

static int count_added(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = info->dlpi_adds;
    return 1;
}

void sonde_natives_refresh(void)
{
    unsigned long long now = 0;
    dl_iterate_phdr(count_added, &now);
    if (libraries && now == added)
        return;
    if (!libraries) {
        void *at = mmap(NULL, MAX_LIBRARIES * sizeof *libraries, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return;
        libraries = at;
    }
    uint32_t n = atomic_load(&known);
    listing all = {NULL, 0, MAX_LIBRARIES - n};
    size_t size = all.room * sizeof *all.seen;
    all.seen = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all.seen == MAP_FAILED)
        return;
    dl_iterate_phdr(list, &all);
    for (unsigned i = 0; i < all.count; i++) {
        libraries[n] = all.seen[i].facts;
        map_file(&libraries[n], all.seen[i].path);
        read_functions(&libraries[n]);
        atomic_store_explicit(&known, ++n, memory_order_release);
    }
    munmap(all.seen, size ? size : 1);
}

static const library_t *library_at(uintptr_t pc)
{
    uint32_t n = atomic_load_explicit(&known, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < MAX_TEXTS && libraries[i].text[k].to; k++)
            if (pc - libraries[i].text[k].from <
                libraries[i].text[k].to - libraries[i].text[k].from)
                return &libraries[i];
    return NULL;
}

static const function_t *function_at(const library_t *l, uint64_t at)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (l->functions[middle].start <= at)
            low = middle + 1;
        else
            high = middle;
    }
    // Some lie within others: a part of a function that has a name of its own.
    for (int back = 0; low > 0 && back < 4; back++, low--)
        if (at - l->functions[low - 1].start < l->functions[low - 1].size)
            return &l->functions[low - 1];
    return NULL;
}

SONDE_HOT uint64_t sonde_native_at(sonde_thread *thread, uintptr_t pc)
{
    const library_t *l = library_at(pc);
    if (!l)
        return 0;
    const function_t *f = function_at(l, pc - l->base);
    const void *defined = f ? (const void *)f : l;
    uint64_t id = sonde_seen_find(sonde.seen, defined);
    if (!id) {
        char text[SONDE_NAME_MAX] = "native code", *end = text + strlen(text);
        if (f)
            end = text + sonde_demangle(l->strings + f->name, text,
                                        sizeof text - sizeof l->name - sizeof " ()");
        strcpy(end, " (");
        strcat(end, l->name);
        strcat(end, ")");
        id = sonde_describe_native(thread, defined, NULL, text);
    }
    return id << SONDE_INSTR_BITS;
}

void sonde_natives_forget(void)
{
    uint32_t n = atomic_exchange(&known, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (libraries[i].functions)
            munmap(libraries[i].functions, libraries[i].functions_mapped);
        if (libraries[i].file)
            munmap(libraries[i].file, libraries[i].file_size);
    }
    if (libraries)
        munmap(libraries, MAX_LIBRARIES * sizeof *libraries);
    libraries = NULL;
    added = 0;
}
