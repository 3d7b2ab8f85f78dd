/* device.c - names of device types. */
#include "scope/analysis/device.h"

const char *osc_device_name(osc_device device)
{
    static const char *const names[OSC_DEVICE_TYPES] = {"CPU", "CUDA", "PrivateUse1",
                                                        "XPU", "MTIA", "HPU"};
    return (unsigned)device < OSC_DEVICE_TYPES ? names[device] : "?";
}
