// Where in a method locks are acquired and released.
#ifndef SONDE_HOTSPOT_LOCK_PLACES_H
#define SONDE_HOTSPOT_LOCK_PLACES_H

#include "hotspot/rewrite/class_file.h"

// What an inserted call says of its lock, in the number that it reports.
enum {
    SONDE_LOCK_IS_MONITOR = 0,
    SONDE_LOCK_IS_OBJECT = 1, // of java.util.concurrent.locks
};

// Adds insertions at blocks and methods that are synchronized, and at calls of lock() and unlock()
// on locks of java.util.concurrent. Nothing if the method has none; or too many, which is false.
bool sonde_lock_places(const sonde_class_method *method, sonde_method_edit *edit);

#endif
