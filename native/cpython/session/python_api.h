// What the program itself may send to its recording: marks, spans, pause and resume.
//
// Python code of the `sonde` package calls these, as functions of a module that is made of this
// library. Nothing here waits for the recorder but pause and resume.
#ifndef SONDE_CPYTHON_PYTHON_API_H
#define SONDE_CPYTHON_PYTHON_API_H

// For a program that imported sonde before it was attached to; one that imports it later finds the
// module itself. The caller holds the GIL.
void sonde_python_api_offer(void);

#endif
