#define _GNU_SOURCE
#include "environment.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

sonde_environment_t sonde_environment;

bool sonde_environment_read(void *inside)
{
    const char *session = getenv("SONDE_SOCKET");
    Dl_info info;
    if (!session || strlen(session) >= sizeof sonde_environment.socket || !dladdr(inside, &info) ||
        strlen(info.dli_fname) >= sizeof sonde_environment.library)
        return false;
    strcpy(sonde_environment.library, info.dli_fname);
    const char *slash = strrchr(info.dli_fname, '/');
    sonde_environment.folder_len = slash ? (int)(slash - info.dli_fname) : 0;
    strcpy(sonde_environment.socket, session);
    sonde_environment.follow = !getenv("SONDE_NO_CHILDREN");
    return true;
}

void sonde_environment_remove(void)
{
    unsetenv("SONDE_SOCKET");
    unsetenv("SONDE_NO_CHILDREN");
    char *list = getenv("LD_PRELOAD");
    if (!list)
        return;
    // The list is edited in place: our entry is the first, put there by the launcher.
    size_t ours = strlen(sonde_environment.library);
    if (strncmp(list, sonde_environment.library, ours) != 0)
        return;
    if (list[ours] == ':')
        memmove(list, list + ours + 1, strlen(list + ours + 1) + 1);
    else if (list[ours] == 0)
        unsetenv("LD_PRELOAD");
}
