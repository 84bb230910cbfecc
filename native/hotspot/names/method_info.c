#define _GNU_SOURCE
#include "hotspot/names/method_info.h"

#include "core/session/name_records.h"
#include "hotspot/names/demangle.h"
#include "hotspot/vm/vm.h"

#include <stdlib.h>
#include <string.h>

// A method has at most 65,535 bytes of code; real ones have far fewer lines.
#define MAX_LINES 8192

typedef struct {
    uint32_t bci, line;
} line_t;

typedef struct {
    char name[SONDE_NAME_MAX], file[SONDE_NAME_MAX];
    size_t name_len, file_len;
    uint32_t first_line, lines;
    line_t table[MAX_LINES + 1];
} method_description;

// One describer at a time.
static method_description described;

static void add(char *to, size_t *length, const char *text, size_t n)
{
    if (n > SONDE_NAME_MAX - *length)
        n = SONDE_NAME_MAX - *length;
    memcpy(to + *length, text, n);
    *length += n;
}

static int by_bci(const void *one, const void *other)
{
    const line_t *a = one, *b = other;
    return (a->bci > b->bci) - (a->bci < b->bci);
}

static void read_lines(jvmtiEnv *jvmti, jmethodID method)
{
    jint count = 0;
    jvmtiLineNumberEntry *entries = NULL;
    jlocation start = 0, end = 0;
    if ((*jvmti)->GetLineNumberTable(jvmti, method, &count, &entries))
        return; // a native method, or compiled without lines
    (*jvmti)->GetMethodLocation(jvmti, method, &start, &end);
    if (count > MAX_LINES)
        count = MAX_LINES;
    for (jint i = 0; i < count; i++) {
        uint32_t line = (uint32_t)entries[i].line_number;
        described.table[described.lines++] = (line_t){(uint32_t)entries[i].start_location, line};
        if (!described.first_line || line < described.first_line)
            described.first_line = line;
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)entries);
    qsort(described.table, described.lines, sizeof *described.table, by_bci);
    if (described.lines) // where the last one ends
        described.table[described.lines++] = (line_t){(uint32_t)end + 1, 0};
}

static void read_class(jvmtiEnv *jvmti, jclass class)
{
    char *signature = NULL, *file = NULL;
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) == 0) {
        described.name_len = sonde_class_name(signature, described.name, SONDE_NAME_MAX / 2);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    }
    if ((*jvmti)->GetSourceFileName(jvmti, class, &file) == 0) {
        // In the folder of its package, as compilers want it; a class file has no more.
        const char *dot = memrchr(described.name, '.', described.name_len);
        if (dot)
            add(described.file, &described.file_len, described.name,
                (size_t)(dot + 1 - described.name));
        for (size_t i = 0; i < described.file_len; i++)
            if (described.file[i] == '.')
                described.file[i] = '/';
        add(described.file, &described.file_len, file, strlen(file));
        (*jvmti)->Deallocate(jvmti, (unsigned char *)file);
    }
}

static void read_method(JNIEnv *env, jmethodID method)
{
    static const char unloaded[] = "[method of an unloaded class]";
    jvmtiEnv *jvmti = sonde_vm.jvmti;
    char *name = NULL;
    jclass class = NULL;
    described.name_len = described.file_len = described.first_line = described.lines = 0;
    if ((*jvmti)->GetMethodName(jvmti, method, &name, NULL, NULL) ||
        (*jvmti)->GetMethodDeclaringClass(jvmti, method, &class)) {
        add(described.name, &described.name_len, unloaded, sizeof unloaded - 1);
        return;
    }
    read_class(jvmti, class);
    add(described.name, &described.name_len, ".", 1);
    add(described.name, &described.name_len, name, strlen(name));
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*env)->DeleteLocalRef(env, class);
    read_lines(jvmti, method);
}

bool sonde_describe_method(JNIEnv *env, jmethodID method, uint64_t id)
{
    read_method(env, method);
    sonde_thread *notes = sonde_notes_enter();
    if (!notes)
        return false;
    size_t table_len = described.lines * sizeof *described.table;
    size_t size =
        sonde_round8(sizeof(sonde_rec_code) + described.name_len + described.file_len + table_len);
    sonde_rec_code *out = sonde_ring_reserve(&notes->ring, size);
    if (out) {
        *out = (sonde_rec_code){
            .rec = {.size = (uint32_t)size, .kind = SONDE_REC_CODE, .state = SONDE_TABLE_BYTECODES},
            .id = id,
            .first_line = described.first_line,
            .name_len = (uint32_t)described.name_len,
            .file_len = (uint32_t)described.file_len,
            .table_len = (uint32_t)table_len};
        char *text = (char *)(out + 1);
        memcpy(text, described.name, described.name_len);
        memcpy(text + described.name_len, described.file, described.file_len);
        memcpy(text + described.name_len + described.file_len, described.table, table_len);
        sonde_ring_commit(&notes->ring, size);
    }
    sonde_notes_leave();
    return out;
}
