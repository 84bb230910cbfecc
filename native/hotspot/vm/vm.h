// The JVM of this process: its interfaces, and what can be known of a thread in a signal handler.
#ifndef SONDE_HOTSPOT_VM_H
#define SONDE_HOTSPOT_VM_H

#include <jvmti.h>
#include <stdbool.h>
#include <stdint.h>

// What AsyncGetCallTrace takes and fills in; no header has it (src/hotspot/share/prims/forte.cpp).
typedef struct {
    jint bci; // -3: a native method
    jmethodID method;
} sonde_java_frame;

typedef struct {
    JNIEnv *env;
    jint count; // of frames; below 0 why there are none
    sonde_java_frame *frames;
} sonde_java_trace;

typedef struct {
    JavaVM *vm;
    jvmtiEnv *jvmti; // NULL outside of sessions
    uint32_t version_hex;
    void (*call_trace)(sonde_java_trace *, jint depth, void *context);
    // Set when the VM ends: from then on none of its functions is called.
    _Atomic bool ended;
} sonde_vm_t;

extern sonde_vm_t sonde_vm;

// The VM of this process, NULL if there is none.
JavaVM *sonde_vm_find(void);

// Gets everything above but the JVMTI environment's events. The caller is attached to the VM. 0 or
// an errno.
int sonde_vm_open(JavaVM *vm, JNIEnv *env);
void sonde_vm_close(void);

// The calling thread's environment, NULL if it is no Java thread; `java_thread` is the VM's record
// of it, or of a thread of the VM's own. May be called in a signal handler.
JNIEnv *sonde_vm_thread(const void **java_thread);

// From where a Java thread has left Java (javaFrameAnchor.hpp); no stack pointer: it has not.
typedef struct {
    const uintptr_t *volatile sp;
    volatile uintptr_t pc, fp;
} sonde_vm_anchor;

// NULL: this VM keeps it elsewhere. May be called in a signal handler, as the next one.
sonde_vm_anchor *sonde_vm_anchor_of(const void *java_thread);
// The state that a Java thread has by its own record (globalDefinitions.hpp, 17 to 25); 0: unknown.
// While it is in the VM no other thread reads its stack: all wait until it is in another state.
enum { SONDE_IN_VM = 6, SONDE_IN_JAVA = 8 };
int sonde_vm_state(const void *java_thread);

// Called in a Java thread with its record, and where its stack ends: its last Java frame becomes
// one that can be walked from, if it is not. May be called in a signal handler.
bool sonde_vm_make_walkable(const void *java_thread, uintptr_t stack_pointer);
// After a walk, where that has made it so.
void sonde_vm_leave_unwalkable(const void *java_thread);

// The library itself, for look-ups in it; the loader knows it by a name that ends so.
#define SONDE_LIBJVM "/libjvm.so"
void *sonde_vm_library(void);

// The VM's record of another thread, 0 if it has none by now.
uint64_t sonde_vm_thread_of(JNIEnv *env, jthread thread);

// Attaches the calling thread, which is the agent's own, for as long as it needs the VM.
JNIEnv *sonde_vm_attach(void);
void sonde_vm_detach(void);

#endif
