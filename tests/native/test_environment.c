// The way into what a target executes: the session's variables come and go, the user's stay.
#define _GNU_SOURCE
#include "check.h"
// The preload library's own sources: their exec functions then come before libc's here too.
#include "preload/environment.c"
#include "preload/exec.c"
#include "preload/shell.c"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

// A library that does no harm when it is really preloaded.
static const char ours[] = "libm.so.6";
static const char socket_path[] = "/run/some/where";

static void in_session(bool follow)
{
    memset(&sonde_environment, 0, sizeof sonde_environment);
    strcpy(sonde_environment.library, ours);
    strcpy(sonde_environment.socket, socket_path);
    sonde_environment.follow = follow;
}

// ---- what a list of variables becomes

// Exactly as much memory as exec.c asks for, so that AddressSanitizer sees a byte too many.
typedef struct {
    char **list, *preload, *socket;
} changed;

static changed change(char *const env[])
{
    changed to = {malloc((count(env) + 4) * sizeof(char *)), malloc(preload_room(env)),
                  malloc(sizeof socket_is + sizeof sonde_environment.socket)};
    with_session(env, to.list, to.preload, to.socket);
    return to;
}

static void drop(changed *it)
{
    free(it->list);
    free(it->preload);
    free(it->socket);
}

static const char *value(char *const env[], const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);
    for (size_t i = 0; env[i]; i++)
        if (!strncmp(env[i], name, n) && env[i][n] == '=') {
            CHECK(!found); // twice
            found = env[i] + n + 1;
        }
    return found;
}

static bool is(const char *got, const char *wanted)
{
    return got && wanted ? !strcmp(got, wanted) : got == wanted;
}

static void expect_preload(const char *given, const char *wanted)
{
    char *env[] = {"A=1", (char *)given, "B=2", NULL};
    changed to = change(env);
    if (!is(value(to.list, "LD_PRELOAD"), wanted))
        fprintf(stderr, "%s became %s\n", given, value(to.list, "LD_PRELOAD"));
    CHECK(is(value(to.list, "LD_PRELOAD"), wanted));
    CHECK(is(value(to.list, "SONDE_SOCKET"), socket_path));
    CHECK(is(value(to.list, "A"), "1") && is(value(to.list, "B"), "2"));
    CHECK_EQUAL(count(to.list), strncmp(given, "LD_PRELOAD=", 11) ? 5 : 4);
    drop(&to);
}

static void adds_the_session(void)
{
    in_session(true);
    expect_preload("C=3", "libm.so.6");
    expect_preload("LD_PRELOAD=", "libm.so.6:"); // an empty list stays one
    expect_preload("LD_PRELOAD=/the/users.so", "libm.so.6:/the/users.so");
    expect_preload("LD_PRELOAD=/a.so:/b.so /c.so", "libm.so.6:/a.so:/b.so /c.so");
    // Through a program without an interpreter in it, where the variables stayed.
    expect_preload("LD_PRELOAD=libm.so.6", "libm.so.6");
    expect_preload("LD_PRELOAD=libm.so.6:/the/users.so", "libm.so.6:/the/users.so");
    expect_preload("LD_PRELOAD=libm.so.6 /the/users.so", "libm.so.6 /the/users.so");
    // Looks like ours and is not.
    expect_preload("LD_PRELOAD=libm.so.66", "libm.so.6:libm.so.66");
    expect_preload("LD_PRELOAD=libm.so.6.old:/b.so", "libm.so.6:libm.so.6.old:/b.so");
}

static void adds_it_to_nothing(void)
{
    in_session(true);
    char *empty[] = {NULL};
    char *const *nothing[] = {NULL, empty};
    for (int i = 0; i < 2; i++) {
        changed to = change(nothing[i]);
        CHECK_EQUAL(count(to.list), 2);
        CHECK(is(value(to.list, "LD_PRELOAD"), ours));
        CHECK(is(value(to.list, "SONDE_SOCKET"), socket_path));
        drop(&to);
    }
}

static void takes_the_place_of_another_session(void)
{
    in_session(true);
    char *env[] = {"SONDE_SOCKET=/another", "SONDE_SOCKET_TOO=x", NULL};
    changed to = change(env);
    CHECK(is(value(to.list, "SONDE_SOCKET"), socket_path));
    CHECK(is(value(to.list, "SONDE_SOCKET_TOO"), "x"));
    CHECK_EQUAL(count(to.list), 3);
    drop(&to);
}

static void keeps_a_huge_environment(void)
{
    in_session(true);
    enum { N = 50000 };
    char **env = malloc((N + 1) * sizeof *env);
    for (int i = 0; i < N; i++)
        CHECK(asprintf(&env[i], "V%d=%d", i, i * 7) > 0);
    env[N] = NULL;
    size_t length = 100000;
    free(env[N / 2]);
    env[N / 2] = malloc(length + 1); // a list of the user's, nearly as long as the kernel allows
    memset(env[N / 2], 'x', length);
    memcpy(env[N / 2], "LD_PRELOAD=", 11);
    env[N / 2][length] = 0;
    changed to = change(env);
    CHECK_EQUAL(count(to.list), N + 1);
    CHECK_EQUAL(strlen(value(to.list, "LD_PRELOAD")), strlen(ours) + 1 + length - 11);
    for (int i = 0; i < N; i++)
        CHECK(to.list[i] == (i == N / 2 ? to.preload : env[i]));
    drop(&to);
    for (int i = 0; i < N; i++)
        free(env[i]);
    free(env);
}

// ---- reading the variables, and taking them out

static void expect_removed(const char *given, const char *left)
{
    setenv("SONDE_SOCKET", socket_path, 1);
    setenv("SONDE_NO_CHILDREN", "1", 1);
    if (given)
        setenv("LD_PRELOAD", given, 1);
    else
        unsetenv("LD_PRELOAD");
    sonde_environment_remove();
    CHECK(is(getenv("LD_PRELOAD"), left));
    CHECK(!getenv("SONDE_SOCKET") && !getenv("SONDE_NO_CHILDREN"));
    unsetenv("LD_PRELOAD");
}

static void takes_out_only_what_is_ours(void)
{
    in_session(true);
    expect_removed(NULL, NULL);
    expect_removed("libm.so.6", NULL);
    expect_removed("libm.so.6:/the/users.so", "/the/users.so");
    expect_removed("libm.so.6:/a.so:/b.so", "/a.so:/b.so");
    expect_removed("libm.so.6:", "");
    expect_removed("/the/users.so", "/the/users.so");
    expect_removed("libm.so.66:/b.so", "libm.so.66:/b.so");
    expect_removed("", "");
}

static void reads_what_there_is(void)
{
    unsetenv("SONDE_SOCKET");
    unsetenv("SONDE_NO_CHILDREN");
    memset(&sonde_environment, 0, sizeof sonde_environment);
    CHECK(!sonde_environment_read((void *)reads_what_there_is));
    setenv("SONDE_SOCKET", socket_path, 1);
    CHECK(sonde_environment_read((void *)reads_what_there_is));
    CHECK(is(sonde_environment.socket, socket_path));
    CHECK(sonde_environment.follow);
    const char *slash = strrchr(sonde_environment.library, '/');
    CHECK(slash && slash - sonde_environment.library == sonde_environment.folder_len);
    CHECK(strstr(slash, "test_environment"));
    setenv("SONDE_NO_CHILDREN", "1", 1);
    CHECK(sonde_environment_read((void *)reads_what_there_is));
    CHECK(!sonde_environment.follow);
    char longer[sizeof sonde_environment.socket + 1];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    setenv("SONDE_SOCKET", longer, 1);
    CHECK(!sonde_environment_read((void *)reads_what_there_is));
    unsetenv("SONDE_SOCKET");
    unsetenv("SONDE_NO_CHILDREN");
}

// ---- executing

static int befores, faileds;
static void count_before(void) { befores++; }
static void count_failed(void) { faileds++; }

enum how {
    EXECVE,
    EXECV,
    EXECVPE,
    EXECVP,
    FEXECVE,
    EXECVEAT,
    EXECL,
    EXECLP,
    EXECLE,
    SPAWN,
    SPAWNP,
    SYSTEM,
    POPEN,
    HOWS
};
static const char *const named[HOWS] = {
    "execve", "execv",  "execvpe",     "execvp",       "fexecve", "execveat", "execl",
    "execlp", "execle", "posix_spawn", "posix_spawnp", "system",  "popen"};
static const bool with_env_given[HOWS] = {true,  false, true, false, true, true,
                                          false, false, true, true,  true};
#define PROGRAM "/usr/bin/env"

static int copied(FILE *from)
{
    char text[4096];
    size_t n;
    while ((n = fread(text, 1, sizeof text, from)) > 0)
        CHECK(write(1, text, n) == (ssize_t)n);
    return pclose(from);
}

static void execute(enum how how, char *const env[])
{
    char *argv[] = {"env", "-0", NULL};
    int fd;
    pid_t pid = 0;
    switch (how) {
    case EXECVE:
        execve(PROGRAM, argv, env);
        break;
    case EXECV:
        execv(PROGRAM, argv);
        break;
    case EXECVPE:
        execvpe("env", argv, env);
        break;
    case EXECVP:
        execvp("env", argv);
        break;
    case FEXECVE:
        fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);
        fexecve(fd, argv, env);
        break;
    case EXECVEAT:
        fd = open("/usr/bin", O_PATH | O_CLOEXEC);
        execveat(fd, "env", argv, env, 0);
        break;
    case EXECL:
        execl(PROGRAM, "env", "-0", (char *)NULL);
        break;
    case EXECLP:
        execlp("env", "env", "-0", (char *)NULL);
        break;
    case EXECLE:
        execle(PROGRAM, "env", "-0", (char *)NULL, env);
        break;
    case SPAWN:
        CHECK(posix_spawn(&pid, PROGRAM, NULL, NULL, argv, env) == 0);
        break;
    case SPAWNP:
        CHECK(posix_spawnp(&pid, "env", NULL, NULL, argv, env) == 0);
        break;
    case SYSTEM:
        _exit(system("/usr/bin/env -0"));
    case POPEN:
        _exit(copied(popen("/usr/bin/env -0", "r")));
    case HOWS:
        break;
    }
    if (!pid)
        _exit(3); // still here
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

// The variables that a program executed in this way has.
static char **environment_of(enum how how, char *const env[])
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    fflush(NULL);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        execute(how, env);
    }
    close(ends[1]);
    static char text[1 << 20];
    size_t n = 0;
    ssize_t got;
    while ((got = read(ends[0], text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    close(ends[0]);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status)
        fprintf(stderr, "%s: status %d\n", named[how], status);
    CHECK(status == 0);
    static char *list[10000];
    size_t entries = 0;
    for (size_t at = 0; at < n && entries < 9999; at += strlen(text + at) + 1)
        list[entries++] = text + at;
    list[entries] = NULL;
    return list;
}

static void follows_every_kind_of_exec(void)
{
    setenv("LD_PRELOAD", "libdl.so.2", 1); // the user's own, harmless too
    setenv("MINE", "yes", 1);
    char *env[] = {"GIVEN=yes", "LD_PRELOAD=libdl.so.2", "PATH=/usr/bin", NULL};
    for (int how = 0; how < HOWS; how++) {
        in_session(true);
        char **list = environment_of(how, env);
        CHECK(is(value(list, "LD_PRELOAD"), "libm.so.6:libdl.so.2"));
        CHECK(is(value(list, "SONDE_SOCKET"), socket_path));
        CHECK(is(value(list, with_env_given[how] ? "GIVEN" : "MINE"), "yes"));
        CHECK(!value(list, with_env_given[how] ? "MINE" : "GIVEN"));
        // Not to be followed, or no session: as if we were not there.
        for (int i = 0; i < 2; i++) {
            in_session(false);
            sonde_environment.has_runtime = true;
            if (i)
                sonde_environment.socket[0] = 0;
            list = environment_of(how, env);
            CHECK(is(value(list, "LD_PRELOAD"), "libdl.so.2"));
            CHECK(!value(list, "SONDE_SOCKET"));
        }
        // Before the first runtime everything is followed, and learns that it ends there.
        in_session(false);
        list = environment_of(how, env);
        CHECK(is(value(list, "SONDE_SOCKET"), socket_path));
        CHECK(is(value(list, "SONDE_NO_CHILDREN"), "1"));
        if (with_env_given[how]) {
            in_session(true);
            list = environment_of(how, NULL);
            CHECK(is(value(list, "LD_PRELOAD"), ours));
            CHECK(is(value(list, "SONDE_SOCKET"), socket_path));
            CHECK_EQUAL(count(list), 2);
        }
    }
    unsetenv("LD_PRELOAD");
}

// The shell that system() and popen() start runs the same command, under the same name.
static size_t output_of(const char *command, char *text, size_t size)
{
    FILE *f = popen(command, "r");
    CHECK(f);
    size_t n = fread(text, 1, size, f);
    pclose(f);
    return n;
}

static void expect_the_same(const char *command)
{
    static char without[4096], with[4096];
    in_session(false);
    sonde_environment.has_runtime = true;
    size_t n = output_of(command, without, sizeof without);
    int status = system(command);
    in_session(true);
    CHECK_EQUAL(output_of(command, with, sizeof with), n);
    CHECK(!memcmp(with, without, n));
    CHECK_EQUAL(system(command), status);
}

static void changes_nothing_in_a_command(void)
{
    char *path = strdup(getenv("PATH"));
    const char *paths[] = {path, "/nowhere:/usr/bin", "/nowhere", ""};
    for (int i = 0; i < 4; i++) {
        setenv("PATH", paths[i], 1);
        expect_the_same("echo \"$0: $#\" 'it'\\''s' \"a  b\" \\\\; exit 3");
        expect_the_same("");
        expect_the_same("# nothing");
        expect_the_same("echo 1\necho 2");
        expect_the_same("nothing-of-that-name 2>&1");
        expect_the_same("kill -9 $$");
        CHECK(system(NULL) != 0);
    }
    setenv("PATH", path, 1);
    free(path);
    expect_the_same("cat /proc/$$/cmdline; :");
    // Nearly as long as the kernel allows, and longer with what is added.
    enum { N = (128 << 10) - 10 };
    char *command = malloc(N + 1);
    memset(command, ' ', N);
    memcpy(command, "echo long", 9);
    command[N] = 0;
    expect_the_same(command);
    memset(command + 9, '\'', 60000);
    expect_the_same(command);
    free(command);
}

static void fail_to_execute(void)
{
    in_session(true);
    sonde_environment.before_exec = count_before;
    sonde_environment.exec_failed = count_failed;
    char *argv[] = {"none", NULL}, *env[] = {NULL};
    errno = 0;
    CHECK(execve("/there/is/none", argv, env) == -1 && errno == ENOENT);
    CHECK(execv("/tmp", argv) == -1 && errno == EACCES);
    CHECK(execvpe("/there/is/none", argv, env) == -1 && errno == ENOENT);
    CHECK(execvp("/there/is/none", argv) == -1 && errno == ENOENT);
    CHECK(fexecve(-1, argv, env) == -1);
    CHECK(execveat(-1, "none", argv, env, 0) == -1 && errno == EBADF);
    CHECK(execl("/there/is/none", "none", (char *)NULL) == -1 && errno == ENOENT);
    CHECK(execlp("/there/is/none", "none", (char *)NULL) == -1 && errno == ENOENT);
    CHECK(execle("/there/is/none", "none", (char *)NULL, env) == -1 && errno == ENOENT);
    CHECK_EQUAL(befores, 9);
    CHECK_EQUAL(faileds, 9);
    // A child's exec is not this process's.
    pid_t pid;
    CHECK(posix_spawn(&pid, "/there/is/none", NULL, NULL, argv, env) == ENOENT);
    CHECK_EQUAL(befores, 9);
}

static void reports_execs_and_failed_ones(void) { CHECK_EQUAL(exit_code_of(fail_to_execute), 0); }

// subprocess executes between vfork and exec on the stack of whichever thread called it.
static void *execute_on_little(void *arg)
{
    char *argv[] = {"true", NULL};
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        execve("/bin/true", argv, arg);
        _exit(9);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_EQUAL(status, 0);
    return NULL;
}

static void needs_little_stack(void)
{
    in_session(true);
    enum { N = 2000 };
    char *env[N + 1], text[N][16];
    for (int i = 0; i < N; i++) {
        snprintf(text[i], sizeof text[i], "V%d=x", i);
        env[i] = text[i];
    }
    env[N] = NULL;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    CHECK(pthread_attr_setstacksize(&attr, 128 << 10) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, &attr, execute_on_little, env) == 0);
    pthread_join(thread, NULL);
}

int main(void)
{
    // Children are preloaded with libraries before AddressSanitizer's; they have no part in it.
    unsetenv("ASAN_OPTIONS");
    RUN(adds_the_session);
    RUN(adds_it_to_nothing);
    RUN(takes_the_place_of_another_session);
    RUN(keeps_a_huge_environment);
    RUN(takes_out_only_what_is_ours);
    RUN(reads_what_there_is);
    RUN(follows_every_kind_of_exec);
    RUN(changes_nothing_in_a_command);
    RUN(reports_execs_and_failed_ones);
    RUN(needs_little_stack);
    return 0;
}
