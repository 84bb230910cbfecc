// What the inserted calls themselves cost, learnt from methods that do nothing but make them.
#ifndef SONDE_HOTSPOT_FLOW_TRAINING_H
#define SONDE_HOTSPOT_FLOW_TRAINING_H

#include <jni.h>
#include <stdbool.h>

// Before anything is recorded, in a thread that is attached to the VM. False: nothing was learnt.
// `residual`: ticks of an event that are left on average.
bool sonde_flow_train(JNIEnv *env, double *residual);

#endif
