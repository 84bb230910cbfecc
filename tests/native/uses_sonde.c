// A library as users write it, with the header for C programs.
#include <sonde.h>

int uses_agent(void);
uint32_t uses_span(const char *name);
void uses_scope(void);
uint32_t uses_part(const char *name, uint32_t of);
void uses_end(uint32_t number);

int uses_agent(void) { return sonde_agent() != NULL; }

uint32_t uses_span(const char *name)
{
    sonde_span span = sonde_span_begin(name);
    sonde_span_set(span, "key", "value");
    sonde_span_set(span, "no=key", "value");
    sonde_span_set_number(span, "least", INT64_MIN);
    return span.number;
}

void uses_scope(void)
{
    SONDE_SPAN("scope");
    SONDE_SPAN("scope inside");
    sonde_mark("mark");
}

uint32_t uses_part(const char *name, uint32_t of)
{
    sonde_span whole = {of};
    return sonde_span_begin_part(name, whole).number;
}

void uses_end(uint32_t number)
{
    sonde_span span = {number};
    sonde_span_end(span);
}
