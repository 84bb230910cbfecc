// Neither getenv nor unsetenv: bash has its own, which do not work before its main().
#define _GNU_SOURCE
#include "preload/environment.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

sonde_environment_t sonde_environment;

static const char *value_of(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(entry, name, n) && entry[n] == '=' ? entry + n + 1 : NULL;
}

static const char *find(const char *name)
{
    const char *found = NULL;
    for (char **entry = environ; entry && *entry && !found; entry++)
        found = value_of(*entry, name);
    return found;
}

bool sonde_environment_read(void *inside)
{
    const char *session = find("SONDE_SOCKET");
    Dl_info info;
    if (!session || strlen(session) >= sizeof sonde_environment.socket || !dladdr(inside, &info) ||
        strlen(info.dli_fname) >= sizeof sonde_environment.library)
        return false;
    strcpy(sonde_environment.library, info.dli_fname);
    const char *slash = strrchr(info.dli_fname, '/');
    sonde_environment.folder_len = slash ? (int)(slash - info.dli_fname) : 0;
    strcpy(sonde_environment.socket, session);
    sonde_environment.follow = !find("SONDE_NO_CHILDREN");
    return true;
}

static bool is_ours(char *entry)
{
    if (value_of(entry, "SONDE_SOCKET") || value_of(entry, "SONDE_NO_CHILDREN"))
        return true;
    char *list = (char *)value_of(entry, "LD_PRELOAD");
    size_t ours = strlen(sonde_environment.library);
    if (!list || strncmp(list, sonde_environment.library, ours) != 0)
        return false;
    // The list is edited in place: our entry is the first, put there by the launcher.
    if (list[ours] != ':')
        return list[ours] == 0;
    memmove(list, list + ours + 1, strlen(list + ours + 1) + 1);
    return false;
}

void sonde_environment_remove(void)
{
    char **to = environ;
    for (char **from = environ; from && *from; from++)
        if (!is_ours(*from))
            *to++ = *from;
    if (to)
        *to = NULL;
}

bool sonde_environment_is_passed_on(void)
{
    return sonde_environment.socket[0] &&
           (sonde_environment.follow || !sonde_environment.has_runtime);
}

// A note of the executable, which is the first object.
static int look_for_go(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr), *end = at + p->p_memsz;
        while (p->p_type == PT_NOTE && end - at > (long)sizeof(ElfW(Nhdr))) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
            const char *name = at + sizeof *note;
            size_t length = ((size_t)note->n_namesz + 3) / 4 * 4;
            size_t room = length + ((size_t)note->n_descsz + 3) / 4 * 4;
            if (room > (size_t)(end - name))
                break;
            if (note->n_namesz >= 3 && !strncmp(name, "Go", 3))
                *(bool *)found = true;
            at = name + room;
        }
    }
    return 1;
}

bool sonde_environment_is_bypassed(void)
{
    bool found = false;
    dl_iterate_phdr(look_for_go, &found);
    return found;
}
