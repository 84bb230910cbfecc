#include "hotspot/rewrite/class_file.h"

#define MAGIC 0xcafebabeu
// Of JDK 1.1, and of the newest one whose class files were tried.
#define MIN_MAJOR 45u
#define MAX_MAJOR 69u

static const char malformed[] = "its class file is malformed";

typedef struct {
    const sonde_rewriter *rewriter;
    sonde_call_constants constants;
    uint32_t major;
    sonde_utf8 class;
    sonde_reader file;
    sonde_output body; // everything after the constants
    bool changed;
} class_rewriting;

static void copy(class_rewriting *rewriting, size_t size)
{
    const uint8_t *bytes = sonde_read_bytes(&rewriting->file, size);
    sonde_append(&rewriting->body, bytes, bytes ? size : 0);
}

static uint32_t copy_u2(class_rewriting *rewriting)
{
    uint32_t number = sonde_read_u2(&rewriting->file);
    sonde_append_u2(&rewriting->body, number);
    return number;
}

static void copy_attribute(class_rewriting *rewriting)
{
    copy_u2(rewriting);
    uint32_t size = sonde_read_u4(&rewriting->file);
    sonde_append_u4(&rewriting->body, size);
    copy(rewriting, size);
}

static void copy_attributes(class_rewriting *rewriting)
{
    for (uint32_t count = copy_u2(rewriting); count-- && !rewriting->file.failed;)
        copy_attribute(rewriting);
}

static void rewrite_code(class_rewriting *rewriting, const sonde_class_method *method)
{
    const sonde_rewriter *rewriter = rewriting->rewriter;
    sonde_output *body = &rewriting->body;
    sonde_method_edit edit = {0};
    size_t began = body->size;
    if (rewriter->choose(rewriter->context, method, &edit)) {
        sonde_method_kind kind = {
            rewriting->major,
            sonde_utf8_is(method->name, "<init>"),
            sonde_utf8_is(method->class, "java/lang/Object"),
        };
        sonde_append_u4(body, 0);
        const char *why =
            sonde_method_code_rewrite(method->code, &rewriting->constants, &kind, &edit, body);
        rewriter->done(rewriter->context, &edit, why);
        if (!why) {
            sonde_put_number(body->data + began, 4, (uint32_t)(body->size - began - 4));
            rewriting->changed = true;
            return;
        }
        body->size = began;
    }
    sonde_append_u4(body, (uint32_t)method->code.size);
    sonde_append(body, method->code.data, method->code.size);
}

static void rewrite_method(class_rewriting *rewriting)
{
    sonde_reader *file = &rewriting->file;
    const sonde_constant_pool *pool = rewriting->constants.pool;
    sonde_class_method method = {.class = rewriting->class, .pool = pool};
    method.access = copy_u2(rewriting);
    method.name = sonde_pool_utf8(pool, copy_u2(rewriting));
    method.descriptor = sonde_pool_utf8(pool, copy_u2(rewriting));
    for (uint32_t count = copy_u2(rewriting); count-- && !file->failed;) {
        sonde_reader ahead = *file;
        if (!sonde_utf8_is(sonde_pool_utf8(pool, sonde_read_u2(&ahead)), "Code")) {
            copy_attribute(rewriting);
            continue;
        }
        copy_u2(rewriting);
        method.code = sonde_read_part(file, sonde_read_u4(file));
        if (!file->failed)
            rewrite_code(rewriting, &method);
    }
}

static const char *rewrite(class_rewriting *rewriting, sonde_constant_pool *pool, sonde_output *to)
{
    sonde_reader *file = &rewriting->file;
    uint32_t magic = sonde_read_u4(file);
    sonde_read_u2(file); // minor version
    rewriting->major = sonde_read_u2(file);
    if (magic != MAGIC)
        return malformed;
    if (rewriting->major < MIN_MAJOR || rewriting->major > MAX_MAJOR)
        return "its class file has a version that sonde does not know";
    if (!sonde_pool_read(pool, file))
        return malformed;
    copy_u2(rewriting); // access
    rewriting->constants.this_class = copy_u2(rewriting);
    rewriting->class = sonde_pool_class(pool, rewriting->constants.this_class);
    copy_u2(rewriting); // its superclass
    for (uint32_t interfaces = copy_u2(rewriting); interfaces-- && !file->failed;)
        copy_u2(rewriting);
    for (uint32_t fields = copy_u2(rewriting); fields-- && !file->failed;) {
        copy(rewriting, 6);
        copy_attributes(rewriting);
    }
    for (uint32_t methods = copy_u2(rewriting); methods-- && !file->failed;)
        rewrite_method(rewriting);
    copy_attributes(rewriting);
    if (file->failed || file->at != file->size)
        return malformed;
    sonde_append(to, file->data, 8);
    sonde_pool_append(pool, to);
    sonde_append(to, rewriting->body.data, rewriting->body.size);
    return to->failed || rewriting->body.failed ? "no memory" : NULL;
}

const char *sonde_class_rewrite(const uint8_t *bytes, size_t size, const sonde_rewriter *rewriter,
                                sonde_output *to, bool *changed)
{
    sonde_constant_pool pool = {0};
    class_rewriting rewriting = {
        .rewriter = rewriter,
        .constants = {.pool = &pool, .target_class = rewriter->target_class},
        .file = {bytes, size, 0, false},
    };
    *to = (sonde_output){0};
    const char *why = rewrite(&rewriting, &pool, to);
    *changed = rewriting.changed && !why;
    sonde_output_free(&rewriting.body);
    sonde_pool_free(&pool);
    return why;
}
