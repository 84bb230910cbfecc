// A word of the calling thread's memory, watched by a debug register of the processor: has the
// thread written it since? The kernel disarms the watch at the first write, so a word that is
// written all the time costs one trap. May be used in a signal handler.
#ifndef SONDE_CORE_WORD_WATCH_H
#define SONDE_CORE_WORD_WATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int descriptor; // + 1; 0: none
    bool refused;   // by the kernel: it is not asked again
    bool written;   // since it was moved there
    uint64_t id;    // by which it is known to be ours
    uint64_t count; // of writes, when it was moved
    uintptr_t word;
} sonde_word_watch;

// Watches this word from now on, which is a multiple of 8. False if it cannot be watched.
bool sonde_word_watch_move(sonde_word_watch *watch, uintptr_t word);

typedef enum { SONDE_WORD_UNKNOWN, SONDE_WORD_UNWRITTEN, SONDE_WORD_WRITTEN } sonde_word_state;
sonde_word_state sonde_word_watch_state(sonde_word_watch *watch, uintptr_t word);

// In any thread. One that the program has closed, and whose number it uses, is left alone.
void sonde_word_watch_close(sonde_word_watch *watch);

#endif
