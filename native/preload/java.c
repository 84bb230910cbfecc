// A JVM has options that load an agent, but it prints a line on stderr for each variable that
// brings one (JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS), and shows options on its command line to the
// program. So nothing is added to them. The launchers (java, javac, jshell and all others) look up
// JNI_CreateJavaVM in libjvm.so; they get ours, which calls it and loads the agent afterwards, by
// the same interfaces it uses when it is attached. (JDK 17 to 25)
#define _GNU_SOURCE
#include "preload/java.h"

#include "core/hooks/got.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

static const char create[] = "JNI_CreateJavaVM";
typedef int32_t create_vm(void **vm, void **env, void *arguments);

static create_vm *real_create;
static void (*on_created)(void *vm, void *env);

static int32_t on_create(void **vm, void **env, void *arguments)
{
    int32_t result = real_create(vm, env, arguments);
    if (result == 0)
        on_created(*vm, *env);
    return result;
}

// The launcher's own look-ups, which all name a library.
static void *on_dlsym(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    if (!found || strcmp(name, create) != 0)
        return found;
    *(void **)&real_create = found;
    return (void *)on_create;
}

enum { NOT_JAVA, LAUNCHER, LINKED };

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    int *found = arg;
    if (strstr(info->dlpi_name, "/libjli.so"))
        *found = LAUNCHER;
    else if (*found == NOT_JAVA && strstr(info->dlpi_name, "/libjvm.so"))
        *found = LINKED;
    return *found == LAUNCHER;
}

bool sonde_java_expect(void (*created)(void *vm, void *env))
{
    static const sonde_hook looks_up[] = {{"dlsym", (void *)on_dlsym}};
    static const sonde_hook calls[] = {{create, (void *)on_create}};
    int found = NOT_JAVA;
    dl_iterate_phdr(look, &found);
    on_created = created;
    if (found == LAUNCHER)
        return sonde_got_hook(NULL, "/libjli.so", looks_up, 1) > 0;
    if (found == NOT_JAVA)
        return false;
    *(void **)&real_create = dlsym(RTLD_DEFAULT, create);
    return real_create && sonde_got_hook(NULL, "", calls, 1) > 0;
}
