#include "hotspot/instrument/call_class.h"

#include "hotspot/instrument/class_maker.h"
#include "hotspot/instrument/counting_methods.h"
#include "hotspot/rewrite/inserted_calls.h"
#include "hotspot/rewrite/instructions.h"

// Of a version without stack maps.
#define MAJOR 49u
enum { ACC_SUPER = 0x0020, ACC_SYNTHETIC = 0x1000 }; // of the class
enum { OP_ICONST_0 = 0x03, OP_ILOAD_0 = 0x1a, OP_IINC = 0x84, OP_IFEQ = 0x99 };

// What the methods about calls get with virtual threads, and what it is made of.
static const char with_thread[] = "(IJ)V";

static void add_native(sonde_class_maker *maker, const char *name, const char *descriptor)
{
    sonde_append_u2(&maker->methods,
                    SONDE_ACCESS_PUBLIC | SONDE_ACCESS_STATIC | SONDE_ACCESS_NATIVE);
    sonde_append_u2(&maker->methods, sonde_pool_add_utf8(&maker->pool, name));
    sonde_append_u2(&maker->methods, sonde_pool_add_utf8(&maker->pool, descriptor));
    sonde_append_u2(&maker->methods, 0);
    maker->method_count++;
}

// name(number) calls name(number, Thread.currentThread().threadId()): the compilers know both.
static void add_with_thread(sonde_class_maker *maker, const char *name)
{
    sonde_constant_pool *pool = &maker->pool;
    uint32_t thread = sonde_pool_add_class(pool, "java/lang/Thread");
    uint32_t current = sonde_pool_add_method(pool, thread, "currentThread", "()Ljava/lang/Thread;");
    uint32_t number = sonde_pool_add_method(pool, thread, "threadId", "()J");
    uint32_t native = sonde_pool_add_method(pool, maker->self, name, with_thread);
    static const uint32_t code_size = 11;
    sonde_output *to = &maker->methods;
    sonde_append_u2(to, SONDE_ACCESS_PUBLIC | SONDE_ACCESS_STATIC);
    sonde_append_u2(to, sonde_pool_add_utf8(pool, name));
    sonde_append_u2(to, sonde_pool_add_utf8(pool, "(I)V"));
    sonde_append_u2(to, 1);
    sonde_append_u2(to, maker->code);
    sonde_append_u4(to, 12 + code_size);
    sonde_append_u2(to, 3); // stack
    sonde_append_u2(to, 1); // variables
    sonde_append_u4(to, code_size);
    sonde_append_u1(to, OP_ILOAD_0);
    sonde_append_u1(to, SONDE_OP_INVOKESTATIC);
    sonde_append_u2(to, current);
    sonde_append_u1(to, SONDE_OP_INVOKEVIRTUAL);
    sonde_append_u2(to, number);
    sonde_append_u1(to, SONDE_OP_INVOKESTATIC);
    sonde_append_u2(to, native);
    sonde_append_u1(to, SONDE_OP_RETURN);
    sonde_append_u2(to, 0); // exceptions
    sonde_append_u2(to, 0); // attributes
    maker->method_count++;
}

// Loops over calls that are not about any method, which show what a call costs.
static void add_training(sonde_class_maker *maker, const char *name, const uint8_t *pattern)
{
    sonde_constant_pool *pool = &maker->pool;
    uint32_t calls[SONDE_TRAINING_CALLS];
    for (uint32_t i = 0; i < SONDE_TRAINING_CALLS; i++)
        calls[i] =
            sonde_pool_add_method(pool, maker->self, sonde_call_targets[pattern[i]].name, "(I)V");
    static const uint32_t body = 7, each = 4;
    uint32_t end = body + each * SONDE_TRAINING_CALLS, code_size = end + 4;
    sonde_output *to = &maker->methods;
    sonde_append_u2(to, SONDE_ACCESS_PUBLIC | SONDE_ACCESS_STATIC);
    sonde_append_u2(to, sonde_pool_add_utf8(pool, name));
    sonde_append_u2(to, sonde_pool_add_utf8(pool, "(I)V"));
    sonde_append_u2(to, 1);
    sonde_append_u2(to, maker->code);
    sonde_append_u4(to, 12 + code_size);
    sonde_append_u2(to, 1); // stack
    sonde_append_u2(to, 1); // variables
    sonde_append_u4(to, code_size);
    sonde_append_u1(to, OP_ILOAD_0);
    sonde_append_u1(to, OP_IFEQ); // the rounds are over
    sonde_append_u2(to, end + 3 - 1);
    sonde_append_u1(to, OP_IINC); // one less
    sonde_append_u2(to, 0x00ff);
    for (uint32_t i = 0; i < SONDE_TRAINING_CALLS; i++) {
        sonde_append_u1(to, OP_ICONST_0);
        sonde_append_u1(to, SONDE_OP_INVOKESTATIC);
        sonde_append_u2(to, calls[i]);
    }
    sonde_append_u1(to, SONDE_OP_GOTO);
    sonde_append_u2(to, 0x10000 - end);
    sonde_append_u1(to, SONDE_OP_RETURN);
    sonde_append_u2(to, 0); // exceptions
    sonde_append_u2(to, 0); // attributes
    maker->method_count++;
}

// All sequences of three entries and returns; and exceptions among them.
static const uint8_t returning[SONDE_TRAINING_CALLS] = {
    SONDE_CALL_ENTER, SONDE_CALL_ENTER, SONDE_CALL_ENTER, SONDE_CALL_LEAVE,
    SONDE_CALL_LEAVE, SONDE_CALL_LEAVE, SONDE_CALL_ENTER, SONDE_CALL_LEAVE};
static const uint8_t throwing[SONDE_TRAINING_CALLS] = {
    SONDE_CALL_ENTER, SONDE_CALL_ENTER, SONDE_CALL_UNWIND, SONDE_CALL_CATCH,
    SONDE_CALL_ENTER, SONDE_CALL_LEAVE, SONDE_CALL_UNWIND, SONDE_CALL_CATCH};

static void make(sonde_class_maker *maker, bool threads, sonde_output *to)
{
    static const uint8_t no_constants[2] = {0, 1};
    sonde_constant_pool *pool = &maker->pool;
    *pool = (sonde_constant_pool){.data = no_constants, .count = 1, .ends = 2};
    maker->self = sonde_pool_add_class(pool, SONDE_CALL_CLASS);
    maker->code = sonde_pool_add_utf8(pool, "Code");
    uint32_t super = sonde_pool_add_class(pool, "java/lang/Object");
    for (uint32_t call = 0; call < SONDE_CALL_COUNT; call++) {
        const sonde_call_target *target = &sonde_call_targets[call];
        bool of_calls = call <= SONDE_CALL_CATCH;
        if (of_calls && threads)
            add_with_thread(maker, target->name);
        add_native(maker, target->name, of_calls && threads ? with_thread : target->descriptor);
    }
    add_training(maker, SONDE_TRAINING_RETURNS, returning);
    add_training(maker, SONDE_TRAINING_EXCEPTIONS, throwing);
    sonde_counting_methods_add(maker);
    sonde_append_u4(to, 0xcafebabe);
    sonde_append_u2(to, 0);
    sonde_append_u2(to, MAJOR);
    sonde_pool_append(pool, to);
    sonde_append_u2(to, SONDE_ACCESS_PUBLIC | SONDE_ACCESS_FINAL | ACC_SUPER | ACC_SYNTHETIC);
    sonde_append_u2(to, maker->self);
    sonde_append_u2(to, super);
    sonde_append_u2(to, 0); // interfaces
    sonde_append_u2(to, maker->field_count);
    sonde_append(to, maker->fields.data, maker->fields.size);
    sonde_append_u2(to, maker->method_count);
    sonde_append(to, maker->methods.data, maker->methods.size);
    sonde_append_u2(to, 0); // attributes
}

static bool has_thread_ids(JNIEnv *env)
{
    jclass thread = (*env)->FindClass(env, "java/lang/Thread");
    jmethodID number = thread ? (*env)->GetMethodID(env, thread, "threadId", "()J") : NULL;
    (*env)->ExceptionClear(env);
    (*env)->DeleteLocalRef(env, thread);
    return number;
}

static jclass define(JNIEnv *env, bool threads)
{
    sonde_class_maker maker = {0};
    sonde_output bytes = {0};
    make(&maker, threads, &bytes);
    jclass class = NULL;
    if (!bytes.failed && !maker.fields.failed && !maker.methods.failed)
        class = (*env)->DefineClass(env, SONDE_CALL_CLASS, NULL, (const jbyte *)bytes.data,
                                    (jsize)bytes.size);
    sonde_output_free(&bytes);
    sonde_output_free(&maker.fields);
    sonde_output_free(&maker.methods);
    sonde_pool_free(&maker.pool);
    return class;
}

jclass sonde_call_class(JNIEnv *env)
{
    jclass class = (*env)->FindClass(env, SONDE_CALL_CLASS);
    (*env)->ExceptionClear(env);
    if (!class)
        class = define(env, has_thread_ids(env));
    (*env)->ExceptionClear(env);
    return class;
}

bool sonde_call_class_register(JNIEnv *env, jclass class, const sonde_call_natives *natives)
{
    char *of_calls = (char *)(has_thread_ids(env) ? with_thread : "(I)V");
    JNINativeMethod methods[] = {
        {"enter", of_calls, (void *)natives->enter},
        {"leave", of_calls, (void *)natives->leave},
        {"unwind", of_calls, (void *)natives->unwind},
        {"caught", of_calls, (void *)natives->caught},
        {"integer", "(JI)V", (void *)natives->integer},
        {"real", "(DI)V", (void *)natives->real},
        {"object", "(Ljava/lang/Object;I)V", (void *)natives->object},
        {"pass", "(I)V", (void *)natives->pass},
        {"acquires", "(Ljava/lang/Object;I)V", (void *)natives->acquires},
        {"acquired", "(I)V", (void *)natives->acquired},
        {"releases", "(Ljava/lang/Object;I)V", (void *)natives->releases},
        {"holds", "(Ljava/lang/Object;I)V", (void *)natives->holds},
        {SONDE_SEEN_NAME, SONDE_SEEN_TYPE, (void *)natives->seen},
    };
    bool done = (*env)->RegisterNatives(env, class, methods, sizeof methods / sizeof *methods) == 0;
    (*env)->ExceptionClear(env);
    return done;
}
