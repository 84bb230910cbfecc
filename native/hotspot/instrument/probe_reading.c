#define _GNU_SOURCE
#include "hotspot/instrument/probe_reading.h"

#include <string.h>

// ---- fields

typedef struct {
    jfieldID id;
    jclass class;
    char type;
    bool is_static;
} found_field;

#define ACC_STATIC 0x0008

static bool is_field(jvmtiEnv *jvmti, jclass class, jfieldID id, const char *wanted,
                     found_field *found)
{
    char *name = NULL, *type = NULL;
    jint access = 0;
    if ((*jvmti)->GetFieldName(jvmti, class, id, &name, &type, NULL))
        return false;
    bool is =
        strcmp(name, wanted) == 0 && (*jvmti)->GetFieldModifiers(jvmti, class, id, &access) == 0;
    if (is)
        *found = (found_field){id, class, *type, access & ACC_STATIC};
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)type);
    return is;
}

// Also of its superclasses.
static bool find_field(JNIEnv *env, jvmtiEnv *jvmti, jclass class, const char *name,
                       found_field *found)
{
    for (bool is = false; class; class = (*env)->GetSuperclass(env, class)) {
        jint count;
        jfieldID *fields;
        if ((*jvmti)->GetClassFields(jvmti, class, &count, &fields))
            return false;
        for (jint i = 0; i < count && !is; i++)
            is = is_field(jvmti, class, fields[i], name, found);
        (*jvmti)->Deallocate(jvmti, (unsigned char *)fields);
        if (is)
            return true;
    }
    return false;
}

static jvalue get(JNIEnv *env, jobject object, const found_field *field)
{
    jvalue value = {0};
    jclass class = field->class;
#define GET(Kind)                                                                                  \
    (field->is_static ? (*env)->GetStatic##Kind##Field(env, class, field->id)                      \
                      : (*env)->Get##Kind##Field(env, object, field->id))
    switch (field->type) {
    case 'Z':
        value.j = GET(Boolean);
        break;
    case 'B':
        value.j = GET(Byte);
        break;
    case 'C':
        value.j = GET(Char);
        break;
    case 'S':
        value.j = GET(Short);
        break;
    case 'I':
        value.j = GET(Int);
        break;
    case 'J':
        value.j = GET(Long);
        break;
    case 'F':
        value.d = GET(Float);
        break;
    case 'D':
        value.d = GET(Double);
        break;
    default:
        value.l = GET(Object);
    }
#undef GET
    return value;
}

static bool is_object(const sonde_java_value *value)
{
    return (value->type == 'L' || value->type == '[') && value->value.l;
}

static int read_field(JNIEnv *env, jvmtiEnv *jvmti, const char *name, bool of_class,
                      sonde_java_value *value)
{
    found_field field;
    if (!is_object(value))
        return SONDE_PROBE_NO_ATTRIBUTE;
    jobject object = value->value.l;
    jclass class = of_class ? object : (*env)->GetObjectClass(env, object);
    if (!find_field(env, jvmti, class, name, &field) || (of_class && !field.is_static))
        return SONDE_PROBE_NO_ATTRIBUTE;
    *value = (sonde_java_value){field.type, get(env, object, &field)};
    return -1;
}

// ---- arrays and texts

// The signature of an object's class in so much room; longer ones are cut off.
static void signature_of(JNIEnv *env, jvmtiEnv *jvmti, jobject object, char *to, size_t room)
{
    char *signature = NULL;
    *to = 0;
    if ((*jvmti)->GetClassSignature(jvmti, (*env)->GetObjectClass(env, object), &signature, NULL))
        return;
    strncpy(to, signature, room - 1);
    to[room - 1] = 0;
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
}

static int read_element(JNIEnv *env, jvmtiEnv *jvmti, int32_t index, sonde_java_value *value)
{
    char signature[64];
    if (!is_object(value))
        return SONDE_PROBE_NO_CONTAINER;
    jarray array = value->value.l;
    signature_of(env, jvmti, array, signature, sizeof signature);
    if (signature[0] != '[')
        return SONDE_PROBE_NO_CONTAINER;
    jsize length = (*env)->GetArrayLength(env, array);
    jsize at = index < 0 ? index + length : index;
    if (at < 0 || at >= length)
        return SONDE_PROBE_NO_ITEM;
    value->type = signature[1];
    value->value.j = 0;
    jvalue element = {0};
    switch (signature[1]) {
    case 'Z':
        (*env)->GetBooleanArrayRegion(env, array, at, 1, &element.z);
        value->value.j = element.z;
        break;
    case 'B':
        (*env)->GetByteArrayRegion(env, array, at, 1, &element.b);
        value->value.j = element.b;
        break;
    case 'C':
        (*env)->GetCharArrayRegion(env, array, at, 1, &element.c);
        value->value.j = element.c;
        break;
    case 'S':
        (*env)->GetShortArrayRegion(env, array, at, 1, &element.s);
        value->value.j = element.s;
        break;
    case 'I':
        (*env)->GetIntArrayRegion(env, array, at, 1, &element.i);
        value->value.j = element.i;
        break;
    case 'J':
        (*env)->GetLongArrayRegion(env, array, at, 1, &value->value.j);
        break;
    case 'F':
        (*env)->GetFloatArrayRegion(env, array, at, 1, &element.f);
        value->value.d = element.f;
        break;
    case 'D':
        (*env)->GetDoubleArrayRegion(env, array, at, 1, &value->value.d);
        break;
    default:
        value->value.l = (*env)->GetObjectArrayElement(env, array, at);
    }
    return -1;
}

// Of arrays, texts and those collections of java.util that keep it in a field.
static int read_length(JNIEnv *env, jvmtiEnv *jvmti, sonde_java_value *value)
{
    static const char collections[] = "Ljava/util/";
    char signature[64];
    if (!is_object(value))
        return SONDE_PROBE_NO_CONTAINER;
    jobject object = value->value.l;
    signature_of(env, jvmti, object, signature, sizeof signature);
    if (signature[0] == '[') {
        *value = (sonde_java_value){'I', {.j = (*env)->GetArrayLength(env, object)}};
        return -1;
    }
    if (strcmp(signature, "Ljava/lang/String;") == 0) {
        *value = (sonde_java_value){'I', {.j = (*env)->GetStringLength(env, object)}};
        return -1;
    }
    if (strncmp(signature, collections, sizeof collections - 1) != 0 ||
        read_field(env, jvmti, "size", false, value) >= 0 || value->type != 'I')
        return SONDE_PROBE_NO_CONTAINER;
    return -1;
}

int sonde_java_read(JNIEnv *env, jvmtiEnv *jvmti, const sonde_probe_order *order, int first,
                    bool of_class, sonde_java_value *value)
{
    for (int i = first; i < order->count; i++) {
        const sonde_probe_step *step = &order->steps[i];
        int failure = SONDE_PROBE_NO_CONTAINER; // no item has a text as its key
        if (step->what == SONDE_STEP_NAME || step->what == SONDE_STEP_ATTRIBUTE)
            failure = read_field(env, jvmti, step->text, of_class && i == first, value);
        else if (step->what == SONDE_STEP_INDEX)
            failure = read_element(env, jvmti, step->index, value);
        else if (step->what == SONDE_STEP_LENGTH)
            failure = read_length(env, jvmti, value);
        if ((*env)->ExceptionCheck(env))
            (*env)->ExceptionClear(env);
        if (failure >= 0)
            return failure;
    }
    return -1;
}

// ---- what is recorded of it

static const char *const boxes[] = {
    "Ljava/lang/Boolean;", "Ljava/lang/Byte;", "Ljava/lang/Character;", "Ljava/lang/Short;",
    "Ljava/lang/Integer;", "Ljava/lang/Long;", "Ljava/lang/Float;",     "Ljava/lang/Double;"};

static uint8_t describe_text(JNIEnv *env, jstring text, sonde_rec_probe *out)
{
    // A character takes at most three bytes; those that would not fit are not read.
    jsize length = (*env)->GetStringLength(env, text), most = sizeof out->text / 3;
    char bytes[sizeof out->text + 1] = "";
    (*env)->GetStringUTFRegion(env, text, 0, length < most ? length : most, bytes);
    out->text_length = (uint32_t)strlen(bytes);
    memcpy(out->text, bytes, out->text_length);
    return SONDE_VALUE_TEXT;
}

uint8_t sonde_java_describe(JNIEnv *env, jvmtiEnv *jvmti, const sonde_java_value *value,
                            sonde_rec_probe *out)
{
    if (value->type == 'F' || value->type == 'D') {
        memcpy(&out->number, &value->value.d, sizeof out->number);
        return SONDE_VALUE_FLOAT;
    }
    if (value->type != 'L' && value->type != '[') {
        out->number = (uint64_t)value->value.j;
        return value->type == 'Z' ? SONDE_VALUE_BOOLEAN : SONDE_VALUE_INTEGER;
    }
    if (!value->value.l)
        return SONDE_VALUE_NONE;
    char signature[64];
    signature_of(env, jvmti, value->value.l, signature, sizeof signature);
    if (strcmp(signature, "Ljava/lang/String;") == 0)
        return describe_text(env, value->value.l, out);
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        sonde_java_value inside = *value;
        if (strcmp(signature, boxes[i]) == 0 &&
            read_field(env, jvmti, "value", false, &inside) < 0 && inside.type != 'L')
            return sonde_java_describe(env, jvmti, &inside, out);
    }
    return SONDE_VALUE_OTHER;
}
