// A library that starts a child as libuv does: in it, between fork and exec, all signals are set to
// their defaults. The child computes for a while there.
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMPUTES_NS 20000000

// How the child ended, as waitpid has it.
int spawn(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        for (int sig = 1; sig < 32; sig++)
            if (sig != SIGKILL && sig != SIGSTOP)
                signal(sig, SIG_DFL);
        struct timespec now;
        do
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
        while (now.tv_sec == 0 && now.tv_nsec < COMPUTES_NS);
        execl("/bin/sh", "sh", "-c", "exit 8", (char *)NULL);
        _exit(9);
    }
    waitpid(pid, &status, 0);
    return status;
}
