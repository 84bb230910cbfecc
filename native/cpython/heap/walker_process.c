#define _GNU_SOURCE
#include "cpython/heap/walker_process.h"

#include "core/base/clock.h"
#include "core/signals/signal_actions.h"
#include "cpython/frames/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PAUSE_NS 1000000u
#define MAX_PAUSE_NS 10000000u
#define OUT_DESCRIPTOR 3
#define MAX_DESCRIPTORS 65536

// ---- in the copy

static void close_others(void)
{
    // An open socket would keep its peer waiting for the end.
    if (syscall(SYS_close_range, 0u, OUT_DESCRIPTOR - 1, 0) == 0 &&
        syscall(SYS_close_range, OUT_DESCRIPTOR + 1, ~0u, 0) == 0)
        return;
    struct rlimit limit = {MAX_DESCRIPTORS, MAX_DESCRIPTORS};
    getrlimit(RLIMIT_NOFILE, &limit); // before Linux 5.9
    for (rlim_t fd = 0; fd < limit.rlim_cur && fd < MAX_DESCRIPTORS; fd++)
        if (fd != OUT_DESCRIPTOR)
            close((int)fd);
}

static void write_word(const char *path, const char *word)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, word, strlen(word));
        close(fd);
    }
}

static void run(int fd, heap_progress *progress)
{
    // A handler would act in the name of the program, as faulthandler's would. All signals stay
    // blocked: those that cannot be, such as a fault, end the copy.
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sonde_sigaction(number, &plain, NULL);
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "sonde-heap");
    // If memory is short this one goes.
    write_word("/proc/self/oom_score_adj", "1000");
    setpriority(PRIO_PROCESS, 0, 10);
    if (fd != OUT_DESCRIPTOR)
        dup2(fd, OUT_DESCRIPTOR);
    close_others();
    sonde_heap_walk(OUT_DESCRIPTOR, progress);
    syscall(SYS_exit_group, progress->error ? 1 : 0);
    __builtin_unreachable();
}

// ---- in the process

int sonde_heap_walker_start(heap_walker *walker, int fd)
{
    heap_progress *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return errno;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    // No signal at its end: the program's handlers and its waitpid(-1) learn nothing of it. Not by
    // fork(): its handlers would run, and locks of other threads would be taken.
    long pid = syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (pid == 0)
        run(fd, progress);
    int error = pid < 0 ? errno : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        munmap(progress, sizeof *progress);
        return error;
    }
    *walker = (heap_walker){(pid_t)pid, progress};
    return 0;
}

static bool read_from(pid_t pid, uintptr_t address, void *to, size_t bytes)
{
    struct iovec here = {to, bytes}, there = {(void *)address, bytes};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

// The type of the object it is at. If it has crashed its memory is freed, and that of the original
// may have changed.
static void name_type(const heap_walker *walker, char *type, size_t room)
{
    uintptr_t object = atomic_load(&walker->progress->object), class = 0, name = 0;
    pid_t both[] = {walker->pid, getpid()};
    type[0] = 0;
    for (int i = 0; i < 2 && object && !type[0]; i++) {
        if (!read_from(both[i], object + offsetof(PyObject, ob_type), &class, sizeof class) ||
            !read_from(both[i], class + offsetof(PyTypeObject, tp_name), &name, sizeof name))
            continue;
        size_t n = 0;
        while (n < room - 1 && read_from(both[i], name + n, type + n, 1) && type[n])
            n++;
        type[n] = 0;
    }
}

// Whether it has ended; its exit status then, or -1 if somebody else has taken that.
static bool has_ended(pid_t pid, int *status)
{
    siginfo_t info = {.si_pid = 0};
    int n;
    do
        n = (int)syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | __WALL, NULL);
    while (n && errno == EINTR);
    if (n) {
        *status = -1;
        return true;
    }
    *status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    return info.si_pid != 0;
}

static void end(pid_t pid)
{
    int status;
    kill(pid, SIGKILL);
    struct timespec pause = {0, FIRST_PAUSE_NS};
    while (!has_ended(pid, &status))
        nanosleep(&pause, NULL);
}

int sonde_heap_walker_wait(heap_walker *walker, uint64_t stuck_ns, bool (*is_wanted)(void),
                           char *type, size_t room)
{
    heap_progress *progress = walker->progress;
    struct timespec pause = {0, FIRST_PAUSE_NS};
    uint64_t since = sonde_now();
    uintptr_t last = 0;
    int status = 0, error = 0;
    type[0] = 0;
    while (!has_ended(walker->pid, &status)) {
        uintptr_t at = atomic_load(&progress->object);
        uint64_t now = sonde_now();
        if (at != last) {
            last = at;
            since = now;
        }
        bool is_stuck = now - since > stuck_ns;
        if (is_stuck || (is_wanted && !is_wanted())) {
            name_type(walker, type, room);
            end(walker->pid);
            return is_stuck ? ETIMEDOUT : ECANCELED;
        }
        nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec * 2 < MAX_PAUSE_NS ? pause.tv_nsec * 2 : MAX_PAUSE_NS;
    }
    if (progress->error)
        error = progress->error;
    else if (!atomic_load(&progress->complete))
        error = EFAULT;
    if (error == EFAULT)
        name_type(walker, type, room);
    return error;
}
