#include "hotspot/names/vm_thread_roles.h"

#include "core/session/name_records.h"

#include <string.h>
#include <sys/prctl.h>

// By how a thread's name in the kernel begins, which has 15 characters (17 to 25).
static const struct {
    const char *begins, *role;
} roles[] = {
    {"C1 CompilerThre", "[C1 compiler]"},
    {"C2 CompilerThre", "[C2 compiler]"},
    {"JVMCI", "[JVMCI compiler]"},
    {"GC Thread#", "[GC thread]"},
    {"ParGC Thread#", "[GC thread]"},
    {"G1 ", "[GC thread, concurrent]"},
    {"ZWorker", "[GC thread, concurrent]"},
    {"Z", "[GC thread, concurrent]"},
    {"Shenandoah", "[GC thread, concurrent]"},
    {"VM Thread", "[VM thread]"},
    {"VM Periodic Tas", "[VM periodic tasks]"},
    {"Sweeper thread", "[code cache sweeper]"},
    {"Service Thread", "[VM service thread]"},
    {"Monitor Deflati", "[VM service thread]"},
    {"Signal Dispatch", "[signal dispatcher]"},
    {"Attach Listener", "[attach listener]"},
    {"JFR ", "[JFR]"},
};

// Of no particular name.
static const struct {
    const char *role;
} others[] = {{"[thread outside of Java]"}, {"[no Java frames]"}};

uint64_t sonde_role_of_vm(sonde_thread *thread)
{
    char name[16] = "";
    // A system call, as cheap as they come; such threads are few, and may be renamed.
    prctl(PR_GET_NAME, name);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strncmp(name, roles[i].begins, strlen(roles[i].begins)) == 0)
            return sonde_describe_native(thread, &roles[i], NULL, roles[i].role)
                   << SONDE_INSTR_BITS;
    return 0;
}

uint64_t sonde_role(sonde_thread *thread, bool is_java)
{
    uint64_t role = sonde_role_of_vm(thread);
    return role ? role
                : sonde_describe_native(thread, &others[is_java], NULL, others[is_java].role)
                      << SONDE_INSTR_BITS;
}
