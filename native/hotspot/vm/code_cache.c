#define _GNU_SOURCE
#include "hotspot/vm/code_cache.h"

#include "core/signals/fault_guard.h"
#include "hotspot/vm/vm.h"
#include "hotspot/vm/vm_structs.h"

#include <link.h>
#include <string.h>

// The code cache has up to three parts. Each is memory that grows, in segments, with a map beside
// it: how many segments before each one a block begins, in steps of at most 254 (heap.cpp, 17 to
// 25).
#define MAX_HEAPS 8
#define FREE 255
static struct {
    const uintptr_t *low, *high, *map;
    uint32_t shift;
} heaps[MAX_HEAPS];
static unsigned heaps_known;
// A block begins with its length, and whether it is used.
static uint64_t block_header;
static int64_t name_at, frame_size_at, number_at, stubs_at, entry_at;
static uintptr_t interpreter_from, interpreter_to;
static uintptr_t entry;
static int64_t left_from_at; // in what the VM keeps of a call of Java: from where Java was left

static const void *part(const void *of, int64_t offset) { return (const char *)of + offset; }

static void find_heaps(void *vm)
{
    const void *const *list = sonde_static_field(vm, "CodeCache", "_heaps");
    int64_t length = sonde_field_offset(vm, "GrowableArrayBase", "_len");
    int64_t data = sonde_field_offset(vm, "GrowableArray<int>", "_data");
    int64_t memory = sonde_field_offset(vm, "CodeHeap", "_memory");
    int64_t map = sonde_field_offset(vm, "CodeHeap", "_segmap");
    int64_t shift = sonde_field_offset(vm, "CodeHeap", "_log2_segment_size");
    int64_t low = sonde_field_offset(vm, "VirtualSpace", "_low");
    int64_t high = sonde_field_offset(vm, "VirtualSpace", "_high");
    name_at = sonde_field_offset(vm, "CodeBlob", "_name");
    frame_size_at = sonde_field_offset(vm, "CodeBlob", "_frame_size");
    number_at = sonde_field_offset(vm, "nmethod", "_compile_id");
    stubs_at = sonde_field_offset(vm, "nmethod", "_stub_offset");
    entry_at = sonde_field_offset(vm, "nmethod", "_entry_bci");
    block_header = sonde_type_size(vm, "HeapBlock");
    heaps_known = 0;
    // A VM that exports less is walked as far as it walks itself.
    if (!list || !*list || length < 0 || data < 0 || memory < 0 || map < 0 || shift < 0 ||
        low < 0 || high < 0 || name_at < 0 || frame_size_at < 0 || !block_header)
        return;
    int32_t count = *(const int32_t *)part(*list, length);
    const void *const *all = *(const void *const *const *)part(*list, data);
    for (int32_t i = 0; i < count && i < MAX_HEAPS; i++) {
        heaps[i].low = part(all[i], memory + low);
        heaps[i].high = part(all[i], memory + high);
        heaps[i].map = part(all[i], map + low);
        heaps[i].shift = (uint32_t)*(const int32_t *)part(all[i], shift);
        heaps_known++;
    }
}

static void find_interpreter(void *vm)
{
    const void *const *queue = sonde_static_field(vm, "AbstractInterpreter", "_code");
    int64_t from = sonde_field_offset(vm, "StubQueue", "_stub_buffer");
    int64_t limit = sonde_field_offset(vm, "StubQueue", "_buffer_limit");
    interpreter_from = interpreter_to = 0;
    if (!queue || !*queue || from < 0 || limit < 0)
        return;
    interpreter_from = *(const uintptr_t *)part(*queue, from);
    interpreter_to = interpreter_from + (uintptr_t)*(const int32_t *)part(*queue, limit);
}

static void find_entry(void *vm)
{
    const uintptr_t *returns_to =
        sonde_static_field(vm, "StubRoutines", "_call_stub_return_address");
    int64_t anchor = sonde_field_offset(vm, "JavaCallWrapper", "_anchor");
    int64_t sp = sonde_field_offset(vm, "JavaFrameAnchor", "_last_Java_sp");
    entry = returns_to && anchor >= 0 && sp >= 0 ? *returns_to : 0;
    left_from_at = anchor + sp;
}

static uintptr_t vm_from, vm_to;

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (!strstr(info->dlpi_name, SONDE_LIBJVM))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        vm_from = info->dlpi_addr + p->p_vaddr;
        vm_to = vm_from + p->p_memsz;
    }
    return 1;
}

bool sonde_is_vm_code(uintptr_t pc) { return pc - vm_from < vm_to - vm_from; }

void sonde_vm_code_prepare(void)
{
    void *vm = sonde_vm_library();
    dl_iterate_phdr(find_text, NULL);
    find_heaps(vm);
    find_interpreter(vm);
    find_entry(vm);
}

static int heap_of(uintptr_t pc)
{
    for (unsigned i = 0; i < heaps_known; i++)
        if (pc - *heaps[i].low < *heaps[i].high - *heaps[i].low)
            return (int)i;
    return -1;
}

bool sonde_is_generated(uintptr_t pc) { return heap_of(pc) >= 0; }

bool sonde_is_interpreter(uintptr_t pc)
{
    return pc - interpreter_from < interpreter_to - interpreter_from;
}

SONDE_FOREIGN bool sonde_blob_at(uintptr_t pc, sonde_blob *out)
{
    int heap = heap_of(pc);
    if (heap < 0)
        return false;
    uintptr_t low = *heaps[heap].low;
    const uint8_t *map = (const uint8_t *)*heaps[heap].map;
    uintptr_t segment = (pc - low) >> heaps[heap].shift;
    if (map[segment] == FREE)
        return false;
    while (map[segment]) {
        if (map[segment] > segment)
            return false;
        segment -= map[segment];
    }
    out->from = low + (segment << heaps[heap].shift) + block_header;
    const char *name = *(const char *const *)(out->from + (uintptr_t)name_at);
    out->is_method = name && strncmp(name, "nmethod", sizeof "nmethod") == 0;
    out->words = *(const int32_t *)(out->from + (uintptr_t)frame_size_at);
    out->number = 0;
    if (out->is_method && number_at >= 0 && stubs_at >= 0) {
        out->number = *(const int32_t *)(out->from + (uintptr_t)number_at);
        int32_t stubs = *(const int32_t *)(out->from + (uintptr_t)stubs_at);
        out->code_to = out->from + (uintptr_t)stubs;
    }
    return pc > out->from;
}

#define NORMAL_ENTRY (-1) // InvocationEntryBci
SONDE_FOREIGN bool sonde_is_entered_in_loop(const sonde_blob *method)
{
    return entry_at < 0 || *(const int32_t *)(method->from + (uintptr_t)entry_at) != NORMAL_ENTRY;
}

bool sonde_is_entry(uintptr_t pc) { return entry && pc == entry; }

// Where it keeps the call (frame_x86.hpp, 17 to 25).
#define CALL_KEPT (-6)
SONDE_FOREIGN bool sonde_is_first_entry(uintptr_t fp)
{
    const char *call = ((const char *const *)fp)[CALL_KEPT];
    return !*(const uintptr_t *)(call + left_from_at);
}
