// Which thread of a process to stop: best one that waits in a call the kernel restarts, then one
// whose call ends with EINTR once, and only then one that runs.
#define _GNU_SOURCE
#include "inject/choice.h"

#include "inject/safe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_TASKS 4096

static int rank_of(pid_t pid, pid_t tid)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    long call;
    unsigned long first, second;
    if (sscanf(text, "%ld %lx %lx", &call, &first, &second) != 3 || call < 0)
        return 0; // "running"
    return sonde_call_rank(call, second);
}

pid_t sonde_thread_to_try(pid_t pid, uint32_t number)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return 0;
    pid_t found[3][64];
    uint32_t count[3] = {0};
    struct dirent *entry;
    for (int seen = 0; seen < MAX_TASKS && (entry = readdir(folder));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid <= 0)
            continue;
        seen++;
        int rank = rank_of(pid, tid);
        if (count[rank] < 64)
            found[rank][count[rank]++] = tid;
        if (rank == 2 && count[2] > number)
            break; // as good as any other
    }
    closedir(folder);
    // Best first; past the last one from the start again, what they do has changed since.
    uint32_t all = count[0] + count[1] + count[2];
    if (!all)
        return 0;
    number %= all;
    for (int rank = 2; rank >= 0; rank--) {
        if (number < count[rank])
            return found[rank][number];
        number -= count[rank];
    }
    return 0;
}
