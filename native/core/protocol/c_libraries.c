#define _GNU_SOURCE
#define SONDE_AGENT_ITSELF
#include "core/protocol/c_libraries.h"

#include "core/hooks/got.h"

#include <link.h>
#include <sonde.h>
#include <stdatomic.h>
#include <stdbool.h>

// What code that is loaded later finds by this note, NULL while no session runs.
__attribute__((used, visibility("hidden")))
const struct sonde_agent_calls *_Atomic sonde_agent_offered;
__asm__(".pushsection .note.sonde, \"a\", @note\n"
        ".balign 4\n"
        ".long 6, 8, 2\n"
        ".asciz \"sonde\"\n"
        ".balign 4\n"
        ".long sonde_agent_offered - .\n"
        ".long 0\n"
        ".popsection\n");

typedef struct {
    const struct sonde_agent_calls *from, *to;
} change;

static bool is_writable(const struct dl_phdr_info *object, uintptr_t at)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const Elf64_Phdr *header = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_W) && at >= start &&
            at + sizeof(void *) <= start + header->p_memsz)
            return !(at & (sizeof(void *) - 1));
    }
    return false;
}

static void connect_user(const struct dl_phdr_info *object, const char *place, const change *to)
{
    int32_t offset;
    memcpy(&offset, place, sizeof offset);
    uintptr_t at = (uintptr_t)place + (uintptr_t)(intptr_t)offset;
    const struct sonde_agent_calls *had = to->from;
    if (is_writable(object, at))
        __atomic_compare_exchange_n((const struct sonde_agent_calls **)at, &had, to->to, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static uint64_t padded(uint64_t size) { return (size + 3) & ~(uint64_t)3; }

static int visit(struct dl_phdr_info *object, size_t size, void *to)
{
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const Elf64_Phdr *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_NOTE || header->p_align > 4)
            continue;
        const char *at = (const char *)(object->dlpi_addr + header->p_vaddr);
        uint64_t left = header->p_memsz;
        Elf64_Nhdr note;
        while (left >= sizeof note) {
            memcpy(&note, at, sizeof note);
            uint64_t length = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
            if (length > left)
                break;
            if (note.n_type == SONDE_NOTE_USER && note.n_namesz == sizeof SONDE_NOTE_NAME &&
                note.n_descsz == 8 && strcmp(at + sizeof note, SONDE_NOTE_NAME) == 0)
                connect_user(object, at + sizeof note + padded(note.n_namesz), to);
            at += length;
            left -= length;
        }
    }
    return 0;
}

// First what others look for, or last: an object that is loaded meanwhile is found by one of both.
void sonde_c_libraries_offer(const struct sonde_agent_calls *calls)
{
    atomic_store(&sonde_agent_offered, calls);
    sonde_got_each_object(visit, &(change){NULL, calls});
}

void sonde_c_libraries_withdraw(const struct sonde_agent_calls *calls)
{
    atomic_store(&sonde_agent_offered, NULL);
    sonde_got_each_object(visit, &(change){calls, NULL});
}
