// What the JNI library of NativeSpans does: spans by the header for C programs.
#include <jni.h>
#include <sonde.h>
#include <time.h>

static volatile double sink;

static double used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

JNIEXPORT jint JNICALL Java_NativeSpans_burn(JNIEnv *env, jclass class, jint ms)
{
    (void)env;
    (void)class;
    sonde_span span = sonde_span_begin("native");
    sonde_span_set_number(span, "ms", ms);
    double until = used() + ms * 1e-3;
    while (used() < until)
        for (int i = 0; i < 1000; i++)
            sink += i;
    sonde_span_end(span);
    return (jint)span.number;
}
