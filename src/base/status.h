/* status.h - the result code and error of every fallible function; public, so it lives in include/. */
#ifndef OSC_BASE_STATUS_H
#define OSC_BASE_STATUS_H

#include "opscope/status.h"

#endif
