// What the program itself may say to its recording: marks, spans, pause and resume.
//
// Python code of the `sonde` package calls these, as functions of a module that is made of this
// library. Nothing here waits for the recorder but pause and resume.
#ifndef SONDE_CPYTHON_PYTHON_API_H
#define SONDE_CPYTHON_PYTHON_API_H

// To a program that imported sonde before it was attached to; later ones look for us. The caller
// holds the GIL.
void sonde_python_api_offer(void);

#endif
