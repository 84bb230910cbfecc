#include "cpython/walk/walk_marks.h"

#if PY_VERSION_HEX < 0x030C0000
// No code takes or drops a reference to it; should some do so, it lasts.
sonde_object sonde_activation_mark = {
    {_PyObject_EXTRA_INIT PY_SSIZE_T_MAX / 2, &PyBaseObject_Type}};
#elif PY_VERSION_HEX < 0x030D0000
sonde_object sonde_activation_mark = {PyObject_HEAD_INIT(&PyBaseObject_Type)};
#endif
