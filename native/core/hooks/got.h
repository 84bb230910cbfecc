// Hooking calls an object makes into libc: its slots in the global offset table are pointed at us.
//
// Only calls from the objects asked for are seen: of the interpreter, say, whether it is a shared
// libpython or an executable that carries it inside. No other calls change.
#ifndef SONDE_CORE_GOT_H
#define SONDE_CORE_GOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name;
    void *hook;
} sonde_hook;

// Hooks the object that `inside` lies in, or every loaded object but our own whose file name
// contains `named`. Slots already hooked are left alone, so it may be called again after a library
// was loaded. How many slots are hooked by now, or -1 if a page could not be made writable.
int sonde_got_hook(const void *inside, const char *named, const sonde_hook *hooks, size_t count);

// The same for every loaded object that is wanted, of which the file's name is given and where it
// lies.
typedef bool sonde_got_wanted(const char *file, uintptr_t start, uintptr_t end);
int sonde_got_hook_all(sonde_got_wanted *wanted, const sonde_hook *hooks, size_t count);

// How many objects were ever loaded and unloaded; 0: not known.
typedef struct {
    unsigned long long added, removed;
} sonde_loaded_objects;
sonde_loaded_objects sonde_got_loaded(void);

// Visits every loaded object, of which none is unloaded meanwhile.
struct dl_phdr_info;
void sonde_got_each_object(int (*visit)(struct dl_phdr_info *, size_t, void *), void *arg);

// Puts back what was there, except where other code has changed a slot since. Calls that are in a
// hook stay in it, so hooks must work on their own afterwards.
void sonde_got_unhook(void);
// Leaves this hook in its slots until sonde_got_unhook_one().
void sonde_got_keep(const void *hook);
void sonde_got_unhook_one(const void *hook);

// Before a fork, and after it in the parent and in the child. While slots are looked for the
// loader's list of objects is locked, and a child that is forked in that moment finds it locked for
// good: glibc gives it a fresh dl_load_lock, but not a fresh dl_load_write_lock (seen on 2.36).
void sonde_got_before_fork(void);
void sonde_got_after_fork(void);
void sonde_got_forked(void);

#endif
