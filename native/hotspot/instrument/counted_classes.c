#include "hotspot/instrument/counted_classes.h"

#include "core/session/shm.h"

static char wanted[SONDE_CALLS_WITHIN + 1];
static jobject platform; // the loader of modules of the JDK that the boot loader has not
static bool by_name;

// Classes that the JDK generates or has besides, whoever loads them.
static const char *const of_jdk[] = {"java.", "javax.", "jdk.", "sun."};

void sonde_counted_classes_set(JNIEnv *env, const char *names, size_t length)
{
    if (length > SONDE_CALLS_WITHIN)
        length = SONDE_CALLS_WITHIN;
    memcpy(wanted, names, length);
    wanted[length] = 0;
    by_name = length;
    jclass class = (*env)->FindClass(env, "java/lang/ClassLoader");
    jmethodID get = class ? (*env)->GetStaticMethodID(env, class, "getPlatformClassLoader",
                                                      "()Ljava/lang/ClassLoader;")
                          : NULL;
    jobject loader = get ? (*env)->CallStaticObjectMethod(env, class, get) : NULL;
    (*env)->ExceptionClear(env);
    platform = loader ? (*env)->NewGlobalRef(env, loader) : NULL;
    (*env)->DeleteLocalRef(env, loader);
    (*env)->DeleteLocalRef(env, class);
}

void sonde_counted_classes_forget(JNIEnv *env)
{
    (*env)->DeleteGlobalRef(env, platform);
    platform = NULL;
}

// The class is it, is in that package, or is inside of that class.
static bool is_within(const char *name, const char *line, size_t size)
{
    return size && strncmp(name, line, size) == 0 &&
           (!name[size] || name[size] == '.' || name[size] == '$');
}

static bool is_named(const char *name)
{
    for (const char *line = wanted; *line;) {
        size_t size = strcspn(line, "\n");
        if (is_within(name, line, size))
            return true;
        line += size + (line[size] == '\n');
    }
    return false;
}

bool sonde_counted_class(JNIEnv *env, jobject loader, const char *name)
{
    if (by_name)
        return is_named(name);
    if (!loader || (*env)->IsSameObject(env, loader, platform))
        return false;
    for (size_t i = 0; i < sizeof of_jdk / sizeof *of_jdk; i++)
        if (strncmp(name, of_jdk[i], strlen(of_jdk[i])) == 0)
            return false;
    return true;
}

// HotSpot calls a method of so many bytes trivial (MaxTrivialSize) and always inlines it: one that
// returns a field or a constant. Counting it would take longer than it takes.
#define TRIVIAL 6u

bool sonde_counted_method(const sonde_class_method *method)
{
    sonde_reader code = method->code;
    sonde_read_u4(&code); // stack, variables
    return sonde_read_u4(&code) > TRIVIAL;
}
