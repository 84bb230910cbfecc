#include "hotspot/instrument/counting_methods.h"

#include "hotspot/rewrite/instructions.h"

sonde_counting_words sonde_counting;

enum {
    OP_ACONST_NULL = 0x01,
    OP_ICONST_1 = 0x04,
    OP_LDC2_W = 0x14,
    OP_ILOAD_0 = 0x1a,
    OP_ILOAD_1 = 0x1b,
    OP_ALOAD_0 = 0x2a,
    OP_ISTORE_1 = 0x3c,
    OP_ISUB = 0x64,
    OP_IINC = 0x84,
    OP_IFEQ = 0x99,
    OP_IFGT = 0x9d,
    OP_IF_ACMPNE = 0xa6,
    OP_GETSTATIC = 0xb2,
    OP_PUTSTATIC = 0xb3,
    OP_INVOKEVIRTUAL = 0xb6,
};

// Both compilers inline a method with the first one wherever it is called, and never one with the
// second: the rare part stays out of line.
#define ALWAYS_INLINE "Ljdk/internal/vm/annotation/ForceInline;"
#define NEVER_INLINE "Ljdk/internal/vm/annotation/DontInline;"
// Its accesses of memory are single instructions in compiled code.
#define MEMORY_CLASS "jdk/internal/misc/Unsafe"
#define MEMORY_TYPE "L" MEMORY_CLASS ";"

typedef struct {
    sonde_class_maker *maker;
    uint32_t memory, get, put, open, left, thread; // constants
    uint8_t bytes[96];
    uint32_t size;
} assembler;

static void op(assembler *to, uint8_t code) { to->bytes[to->size++] = code; }

static void op_u2(assembler *to, uint8_t code, uint32_t operand)
{
    op(to, code);
    sonde_put_number(to->bytes + to->size, 2, operand);
    to->size += 2;
}

// A jump ahead, whose distance is set once its target is reached.
static uint32_t jump(assembler *to, uint8_t code)
{
    op_u2(to, code, 0);
    return to->size - 3;
}

static void arrive(assembler *to, uint32_t from)
{
    sonde_put_number(to->bytes + from + 1, 2, to->size - from);
}

static uint32_t own_method(const assembler *to, const char *name, const char *type)
{
    return sonde_pool_add_method(&to->maker->pool, to->maker->self, name, type);
}

static void begin_member(sonde_class_maker *maker, sonde_output *to, uint32_t access,
                         const char *name, const char *type)
{
    sonde_append_u2(to, access);
    sonde_append_u2(to, sonde_pool_add_utf8(&maker->pool, name));
    sonde_append_u2(to, sonde_pool_add_utf8(&maker->pool, type));
}

static void add_field(sonde_class_maker *maker, uint32_t access, const char *name, const char *type)
{
    begin_member(maker, &maker->fields, access, name, type);
    sonde_append_u2(&maker->fields, 0); // attributes
    maker->field_count++;
}

static void add_code(assembler *from, const char *name, const char *type, uint32_t stack,
                     uint32_t variables, const char *annotation)
{
    sonde_class_maker *maker = from->maker;
    sonde_output *to = &maker->methods;
    begin_member(maker, to, SONDE_ACCESS_PUBLIC | SONDE_ACCESS_STATIC, name, type);
    sonde_append_u2(to, annotation ? 2 : 1);
    sonde_append_u2(to, maker->code);
    sonde_append_u4(to, 12 + from->size);
    sonde_append_u2(to, stack);
    sonde_append_u2(to, variables);
    sonde_append_u4(to, from->size);
    sonde_append(to, from->bytes, from->size);
    sonde_append_u2(to, 0); // exceptions
    sonde_append_u2(to, 0); // attributes
    if (annotation) {
        sonde_append_u2(to, sonde_pool_add_utf8(&maker->pool, "RuntimeVisibleAnnotations"));
        sonde_append_u4(to, 6);
        sonde_append_u2(to, 1);
        sonde_append_u2(to, sonde_pool_add_utf8(&maker->pool, annotation));
        sonde_append_u2(to, 0); // values
    }
    maker->method_count++;
    from->size = 0;
}

static void load_word(assembler *to, uint32_t address)
{
    op_u2(to, OP_GETSTATIC, to->memory);
    op(to, OP_ACONST_NULL);
    op_u2(to, OP_LDC2_W, address);
    op_u2(to, OP_INVOKEVIRTUAL, to->get);
}

// if (open != 0) passed();
static void add_count(assembler *to, uint32_t passed)
{
    load_word(to, to->open);
    uint32_t closed = jump(to, OP_IFEQ);
    op_u2(to, SONDE_OP_INVOKESTATIC, passed);
    arrive(to, closed);
    op(to, SONDE_OP_RETURN);
    add_code(to, "count", "()V", 4, 0, ALWAYS_INLINE);
}

// Thread here = Thread.currentThread();
// if (here == counted && --left > 0) return;
// int goesOn = seen();
// if (goesOn != 0) counted = goesOn > 0 ? here : null;
static void add_passed(assembler *to, uint32_t seen)
{
    sonde_constant_pool *pool = &to->maker->pool;
    uint32_t class = sonde_pool_add_class(pool, "java/lang/Thread");
    uint32_t current =
        sonde_pool_add_method(pool, class, "currentThread", "()" SONDE_COUNTED_THREAD_TYPE);
    op_u2(to, SONDE_OP_INVOKESTATIC, current);
    op(to, SONDE_OP_ASTORE_0);
    op_u2(to, OP_GETSTATIC, to->thread);
    op(to, OP_ALOAD_0);
    uint32_t other = jump(to, OP_IF_ACMPNE);
    load_word(to, to->left);
    op(to, OP_ICONST_1);
    op(to, OP_ISUB);
    op(to, OP_ISTORE_1);
    op_u2(to, OP_GETSTATIC, to->memory);
    op(to, OP_ACONST_NULL);
    op_u2(to, OP_LDC2_W, to->left);
    op(to, OP_ILOAD_1);
    op_u2(to, OP_INVOKEVIRTUAL, to->put);
    op(to, OP_ILOAD_1);
    uint32_t skipped = jump(to, OP_IFGT);
    arrive(to, other);
    op_u2(to, SONDE_OP_INVOKESTATIC, seen);
    op(to, OP_ISTORE_1);
    op(to, OP_ILOAD_1);
    uint32_t of_other = jump(to, OP_IFEQ);
    op(to, OP_ILOAD_1);
    uint32_t goes_on = jump(to, OP_IFGT);
    op(to, OP_ACONST_NULL);
    op_u2(to, OP_PUTSTATIC, to->thread);
    op(to, SONDE_OP_RETURN);
    arrive(to, goes_on);
    op(to, OP_ALOAD_0);
    op_u2(to, OP_PUTSTATIC, to->thread);
    arrive(to, skipped);
    arrive(to, of_other);
    op(to, SONDE_OP_RETURN);
    add_code(to, "passed", "()V", 5, 2, NEVER_INLINE);
}

static void add_training(assembler *to, uint32_t count)
{
    op(to, OP_ILOAD_0);
    uint32_t end = jump(to, OP_IFEQ);
    op_u2(to, OP_IINC, 0x00ff);
    for (uint32_t i = 0; i < SONDE_TRAINING_COUNTS_CALLS; i++)
        op_u2(to, SONDE_OP_INVOKESTATIC, count);
    op_u2(to, SONDE_OP_GOTO, 0x10000 - to->size);
    arrive(to, end);
    op(to, SONDE_OP_RETURN);
    add_code(to, SONDE_TRAINING_COUNTS, "(I)V", 1, 1, NULL);
}

static void add_initializer(assembler *to)
{
    sonde_constant_pool *pool = &to->maker->pool;
    uint32_t class = sonde_pool_add_class(pool, MEMORY_CLASS);
    op_u2(to, SONDE_OP_INVOKESTATIC,
          sonde_pool_add_method(pool, class, "getUnsafe", "()" MEMORY_TYPE));
    op_u2(to, OP_PUTSTATIC, to->memory);
    op(to, SONDE_OP_RETURN);
    add_code(to, "<clinit>", "()V", 1, 0, NULL);
}

static void add_seen(sonde_class_maker *maker)
{
    uint32_t access = SONDE_ACCESS_PUBLIC | SONDE_ACCESS_STATIC | SONDE_ACCESS_NATIVE;
    begin_member(maker, &maker->methods, access, SONDE_SEEN_NAME, SONDE_SEEN_TYPE);
    sonde_append_u2(&maker->methods, 0); // attributes
    maker->method_count++;
}

void sonde_counting_methods_add(sonde_class_maker *maker)
{
    sonde_constant_pool *pool = &maker->pool;
    uint32_t class = sonde_pool_add_class(pool, MEMORY_CLASS);
    assembler to = {
        .maker = maker,
        .memory = sonde_pool_add_field(pool, maker->self, "memory", MEMORY_TYPE),
        .thread = sonde_pool_add_field(pool, maker->self, SONDE_COUNTED_THREAD_NAME,
                                       SONDE_COUNTED_THREAD_TYPE),
        .get = sonde_pool_add_method(pool, class, "getInt", "(Ljava/lang/Object;J)I"),
        .put = sonde_pool_add_method(pool, class, "putInt", "(Ljava/lang/Object;JI)V"),
        .open = sonde_pool_add_long(pool, (uintptr_t)&sonde_counting.open),
        .left = sonde_pool_add_long(pool, (uintptr_t)&sonde_counting.left),
    };
    uint32_t access = SONDE_ACCESS_PRIVATE | SONDE_ACCESS_STATIC;
    add_field(maker, access | SONDE_ACCESS_FINAL, "memory", MEMORY_TYPE);
    add_field(maker, access, SONDE_COUNTED_THREAD_NAME, SONDE_COUNTED_THREAD_TYPE);
    add_seen(maker);
    add_count(&to, own_method(&to, "passed", "()V"));
    add_passed(&to, own_method(&to, SONDE_SEEN_NAME, SONDE_SEEN_TYPE));
    add_training(&to, own_method(&to, "count", "()V"));
    add_initializer(&to);
}
