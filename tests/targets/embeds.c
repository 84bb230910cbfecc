// A program that loads an interpreter late, as PyInstaller's bootloader, vim and plugins do.
//
//     embeds LIBRARY global|local|bootloader CYCLES CODE
//
// Runs CODE in an interpreter that is initialised and finalised CYCLES times. A bootloader first
// executes itself in a child, with another LD_LIBRARY_PATH, and ends with the child's exit code.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(9);
    }
    return found;
}

static int boot(char **argv)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        setenv("LD_LIBRARY_PATH", "/unpacked", 1);
        argv[2] = "global";
        execvp(argv[0], argv);
        _exit(7);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return 7;
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 8;
    if (!strcmp(argv[2], "bootloader"))
        return boot(argv);
    library = dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "global") ? RTLD_LOCAL : RTLD_GLOBAL));
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 9;
    }
    void (*initialize)(int) = (void (*)(int))find("Py_InitializeEx");
    int (*run)(const char *, void *) =
        (int (*)(const char *, void *))find("PyRun_SimpleStringFlags");
    int (*finalize)(void) = (int (*)(void))find("Py_FinalizeEx");
    int result = 0;
    for (int i = 0; i < atoi(argv[3]); i++) {
        initialize(0);
        result |= run(argv[4], NULL);
        result |= finalize();
        printf("finalised %d\n", i + 1);
        fflush(stdout);
    }
    return result ? 1 : 5;
}
