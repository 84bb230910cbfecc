#include "heap/sizes.h"

#include <stdlib.h>
#include <string.h>

void sonde_sizes_retained(uint64_t objects, uint64_t reachable, const uint32_t *order,
                          const uint32_t *dominator, const uint64_t *size, uint64_t *retained)
{
    memset(retained, 0, objects * sizeof *retained);
    for (uint64_t at = reachable; at-- > 0;) {
        uint32_t object = order[at];
        retained[object] += size[object];
        if (dominator[object] != SONDE_NO_OBJECT)
            retained[dominator[object]] += retained[object];
    }
}

struct children {
    uint64_t *first;
    uint32_t *object;
    uint32_t *stack;
    uint64_t *next;
    uint32_t *open; // objects of each type between here and the root
};

// The objects that each object immediately dominates; those that none dominates come last.
static bool find_children(uint64_t objects, uint64_t reachable, const uint32_t *order,
                          const uint32_t *dominator, struct children *children)
{
    children->first = calloc(objects + 3, sizeof *children->first);
    children->object = malloc((reachable ? reachable : 1) * sizeof *children->object);
    if (!children->first || !children->object)
        return false;
    uint64_t *first = children->first;
    for (uint64_t at = 0; at < reachable; at++) {
        uint32_t above = dominator[order[at]];
        first[(above == SONDE_NO_OBJECT ? objects : above) + 2]++;
    }
    for (uint64_t o = 0; o <= objects + 1; o++)
        first[o + 1] += first[o];
    for (uint64_t at = 0; at < reachable; at++) {
        uint32_t above = dominator[order[at]];
        children->object[first[(above == SONDE_NO_OBJECT ? objects : above) + 1]++] = order[at];
    }
    return true;
}

bool sonde_sizes_by_type(uint64_t objects, uint64_t reachable, const uint32_t *order,
                         const uint32_t *dominator, const uint64_t *retained, const uint32_t *type,
                         uint32_t types, uint64_t *of_type)
{
    struct children children = {
        .stack = malloc((reachable + 1) * sizeof(uint32_t)),
        .next = malloc((reachable + 1) * sizeof(uint64_t)),
        .open = calloc((size_t)types + 1, sizeof(uint32_t)),
    };
    bool done = children.stack && children.next && children.open &&
                find_children(objects, reachable, order, dominator, &children);
    if (!done)
        goto out;
    memset(of_type, 0, types * sizeof *of_type);
    for (uint64_t c = children.first[objects]; c < children.first[objects + 1]; c++) {
        uint64_t depth = 0;
        uint32_t enter = children.object[c];
        for (;;) {
            if (children.open[type[enter]]++ == 0)
                of_type[type[enter]] += retained[enter];
            children.stack[depth] = enter;
            children.next[depth++] = children.first[enter];
            while (depth &&
                   children.next[depth - 1] == children.first[children.stack[depth - 1] + 1])
                children.open[type[children.stack[--depth]]]--;
            if (!depth)
                break;
            enter = children.object[children.next[depth - 1]++];
        }
    }
out:
    free(children.first);
    free(children.object);
    free(children.stack);
    free(children.next);
    free(children.open);
    return done;
}

void sonde_sizes_holders(uint64_t reachable, const uint32_t *order, const uint32_t *parent,
                         const uint64_t *via, const uint32_t *label, const uint32_t *type,
                         const uint8_t *is_container, uint32_t *holder, uint32_t *holder_label)
{
    for (uint64_t at = 0; at < reachable; at++) {
        uint32_t object = order[at], above = parent[object];
        if (above == SONDE_NO_OBJECT) {
            holder[object] = holder_label[object] = SONDE_NO_OBJECT;
        } else if (is_container[type[above]]) {
            holder[object] = holder[above];
            holder_label[object] = holder_label[above];
            // A container that is a root itself holds what is in it.
            if (holder[object] == SONDE_NO_OBJECT) {
                holder[object] = above;
                holder_label[object] = label[via[object]];
            }
        } else {
            holder[object] = above;
            holder_label[object] = label[via[object]];
        }
    }
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b) * 0x9e3779b97f4a7c15u;
    return (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
}

void sonde_sizes_paths(uint64_t reachable, const uint32_t *order, const uint32_t *parent,
                       const uint64_t *via, const uint32_t *label, const uint32_t *type,
                       const uint8_t *is_container, const uint64_t *root_number, uint64_t *number)
{
    for (uint64_t at = 0; at < reachable; at++) {
        uint32_t object = order[at], above = parent[object];
        if (above == SONDE_NO_OBJECT) {
            number[object] = mixed(mixed(1, root_number[object]), type[object]);
            continue;
        }
        uint32_t step = label[via[object]];
        bool repeats = type[above] == type[object] && parent[above] != SONDE_NO_OBJECT &&
                       label[via[above]] == step;
        if (repeats || (is_container[type[above]] && is_container[type[object]]))
            number[object] = number[above];
        else if (is_container[type[above]])
            number[object] = mixed(number[above], type[object]);
        else
            number[object] = mixed(mixed(number[above], step), (uint64_t)type[object] << 32);
    }
}

bool sonde_sizes_of_set(uint64_t objects, uint64_t reachable, const uint32_t *order,
                        const uint32_t *dominator, const uint64_t *retained, const uint8_t *member,
                        uint64_t *of_set)
{
    uint8_t *covered = calloc(objects ? objects : 1, 1);
    if (!covered)
        return false;
    *of_set = 0;
    for (uint64_t at = 0; at < reachable; at++) {
        uint32_t object = order[at], above = dominator[object];
        bool by_above = above != SONDE_NO_OBJECT && covered[above];
        if (member[object] && !by_above)
            *of_set += retained[object];
        covered[object] = by_above || member[object];
    }
    free(covered);
    return true;
}
