// A program that loads an interpreter late, as PyInstaller's bootloader, vim and plugins do.
//
//     embeds LIBRARY global|local CYCLES CODE
//
// Runs CODE in an interpreter that is initialised and finalised CYCLES times.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
    if (argc != 5)
        return 8;
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
