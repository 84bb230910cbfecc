// Names as people would write them.
#include "check.h"
#include "hotspot/names/demangle.h"

#include <string.h>

static const char *symbol(const char *from)
{
    static char text[128];
    text[sonde_demangle(from, text, sizeof text - 1)] = 0;
    return text;
}

static const char *class(const char *from)
{
    static char text[128];
    text[sonde_class_name(from, text, sizeof text - 1)] = 0;
    return text;
}

#define CHECK_TEXT(got, expected) CHECK(strcmp(got, expected) == 0)

int main(void)
{
    CHECK_TEXT(symbol("memcpy"), "memcpy");
    CHECK_TEXT(symbol("_ZN6Parker4parkEbl"), "Parker::park");
    CHECK_TEXT(symbol("_ZNK5frame6senderEP11RegisterMap"), "frame::sender");
    CHECK_TEXT(symbol("_ZL10thread_runPv"), "thread_run");
    CHECK_TEXT(symbol("_ZN10HandleMarkC1EP6Thread"), "HandleMark::HandleMark");
    CHECK_TEXT(symbol("_ZN10HandleMarkD2Ev"), "HandleMark::~HandleMark");
    CHECK_TEXT(symbol("_ZN13GrowableArrayIiE6appendERKi"), "GrowableArray::append");
    // What is more complicated, or cut off, stays as it is.
    CHECK_TEXT(symbol("_ZStlsISt11char_traitsIcEE"), "_ZStlsISt11char_traitsIcEE");
    CHECK_TEXT(symbol("_ZN99short"), "_ZN99short");
    CHECK_TEXT(symbol("_ZN"), "_ZN");
    CHECK_TEXT(symbol("_Z"), "_Z");
    CHECK_TEXT(symbol("_ZN1aI"), "_ZN1aI");
    char little[4];
    CHECK_EQUAL(sonde_demangle("_ZN6Parker4parkEbl", little, sizeof little), sizeof little);

    CHECK_TEXT(class("Ljava/lang/String;"), "java.lang.String");
    CHECK_TEXT(class("LMain$Inner;"), "Main$Inner");
    CHECK_TEXT(class("Lorg/app/Main$$Lambda$14.0x0000000800c03208;"), "org.app.Main$$Lambda");
    CHECK_TEXT(class("Lorg/app/Main$$Lambda.0x00007f0d1c000400;"), "org.app.Main$$Lambda");
    CHECK_TEXT(class("Ljava/lang/invoke/LambdaForm$MH.0x0800;"), "java.lang.invoke.LambdaForm$MH");
    CHECK_TEXT(class(""), "");
    return 0;
}
