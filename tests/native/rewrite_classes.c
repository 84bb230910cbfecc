// Rewrites class files as the agent does, for tests: tests/native/test_class_rewriting.py has the
// JVM verify and run what comes out.
//
//   rewrite_classes TARGET FROM INTO [DAMAGED]
//
// FROM has one path per line, below the current directory; what was rewritten goes to the same path
// below INTO. DAMAGED: as many times each class is rewritten with bytes that are wrong, or cut off,
// for the sanitizers to see. Prints what was done, and why the rest was not.
#include "hotspot/lock_activity/lock_places.h"
#include "hotspot/rewrite/class_file.h"
#include "hotspot/rewrite/instructions.h"

#include "check.h"

#include <errno.h>
#include <sys/stat.h>

#define MAX_REASONS 32

static struct {
    const char *why;
    unsigned long count;
} reasons[MAX_REASONS];
static unsigned long methods, done, places; // places: of locks

static void count_reason(const char *why)
{
    for (size_t i = 0; i < MAX_REASONS; i++) {
        if (!reasons[i].why)
            reasons[i].why = why;
        if (reasons[i].why == why) {
            reasons[i].count++;
            return;
        }
    }
}

// Counts and reports all calls and locks, and in methods that are not static also the object,
// besides a pass before every tenth instruction.
static bool choose(void *context, const sonde_class_method *method, sonde_method_edit *edit)
{
    (void)context;
    edit->calls = edit->counted = true;
    edit->number = (uint32_t)methods++;
    sonde_lock_places(method, edit);
    places += edit->insertion_count;
    if (!(method->access & SONDE_ACC_STATIC) && !sonde_utf8_is(method->name, "<init>"))
        edit->insertions[edit->insertion_count++] =
            (sonde_insertion){.at_entry = true, .type = 'L', .number = edit->number};
    sonde_reader code = method->code;
    sonde_read_u4(&code);
    uint32_t size = sonde_read_u4(&code), length, nth = 0;
    const uint8_t *bytes = sonde_read_bytes(&code, size);
    for (uint32_t pc = 0; bytes && pc < size && edit->insertion_count < SONDE_MAX_INSERTIONS;
         pc += length) {
        length = sonde_instruction_length(bytes, size, pc);
        if (!length)
            break;
        if (nth++ % 10 == 9)
            edit->insertions[edit->insertion_count++] =
                (sonde_insertion){.pc = pc, .type = 'V', .number = edit->number};
    }
    return true;
}

static void on_done(void *context, const sonde_method_edit *edit, const char *why)
{
    (void)edit;
    if (!why)
        done++;
    else if (context)
        count_reason(why);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    CHECK(file);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    CHECK(bytes && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static void write_file(const char *into, const char *name, const sonde_output *content)
{
    char path[4096];
    CHECK((size_t)snprintf(path, sizeof path, "%s/%s", into, name) < sizeof path);
    for (char *slash = path + strlen(into) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        CHECK(mkdir(path, 0777) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(content->data, 1, content->size, file) == content->size);
    fclose(file);
}

// In memory of its own size: one byte too far is seen.
static void damage(const uint8_t *bytes, size_t size, const sonde_rewriter *rewriter,
                   uint64_t *state)
{
    size_t part = draw(state) % 2 ? size : draw(state) % size + 1;
    uint8_t *wrong = malloc(part);
    CHECK(wrong);
    memcpy(wrong, bytes, part);
    for (uint64_t changes = draw(state) % 8 + 1; changes--;)
        wrong[draw(state) % part] = (uint8_t)draw(state);
    sonde_output output;
    bool changed;
    sonde_class_rewrite(wrong, part, rewriter, &output, &changed);
    sonde_output_free(&output);
    free(wrong);
}

int main(int count, char **arguments)
{
    CHECK(count >= 4);
    sonde_rewriter rewriter = {arguments[1], &rewriter, choose, on_done};
    sonde_rewriter quiet = {arguments[1], NULL, choose, on_done};
    unsigned long classes = 0, damaged = count > 4 ? strtoul(arguments[4], NULL, 10) : 0;
    uint64_t state = 20;
    FILE *list = fopen(arguments[2], "r");
    CHECK(list);
    for (char name[4096]; fgets(name, sizeof name, list);) {
        name[strcspn(name, "\n")] = 0;
        size_t size;
        uint8_t *bytes = read_file(name, &size);
        sonde_output output;
        bool changed;
        const char *why = sonde_class_rewrite(bytes, size, &rewriter, &output, &changed);
        if (why)
            count_reason(why);
        else if (changed)
            write_file(arguments[3], name, &output);
        classes += !why;
        sonde_output_free(&output);
        unsigned long before = methods, before_done = done, before_places = places;
        for (unsigned long i = 0; i < damaged; i++)
            damage(bytes, size, &quiet, &state);
        methods = before;
        done = before_done;
        places = before_places;
        free(bytes);
    }
    fclose(list);
    printf("%lu classes\n%lu methods\n%lu rewritten\n%lu places\n", classes, methods, done, places);
    for (size_t i = 0; i < MAX_REASONS && reasons[i].why; i++)
        printf("%lu %s\n", reasons[i].count, reasons[i].why);
    return 0;
}
