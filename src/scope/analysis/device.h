/* device.h - c10 device types as PyTorch names them. */
#ifndef OSC_ANALYSIS_DEVICE_H
#define OSC_ANALYSIS_DEVICE_H

/* Numbers are ours. */
typedef enum osc_device {
    OSC_DEVICE_CPU = 0,
    OSC_DEVICE_CUDA = 1,
    OSC_DEVICE_PRIVATEUSE1 = 2,
    OSC_DEVICE_XPU = 3,
    OSC_DEVICE_MTIA = 4,
    OSC_DEVICE_HPU = 5,
    OSC_DEVICE_TYPES = 6
} osc_device;

/* "CPU", "CUDA", "PrivateUse1", ... Static storage. */
const char *osc_device_name(osc_device device);

#endif
