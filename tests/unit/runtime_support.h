/*
 * runtime_support.h - what the runtime's tests share: a fresh process per configuration.
 *
 * A process has one runtime, configured by its environment at the first call. So tests run their
 * bodies in forked children, made before the parent has touched the runtime.
 */
#ifndef OSC_TESTS_RUNTIME_SUPPORT_H
#define OSC_TESTS_RUNTIME_SUPPORT_H

#include "opscope/neuron.h"
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child's body: a failed condition ends it with false. */
#define NEED(cond)         \
    do {                   \
        if (!TAP_OK(cond)) \
            return false;  \
    } while (0)

/* A call that must succeed; prints its error. */
#define NEED_OK(call)                                                   \
    do {                                                                \
        osc_err need_err = {0};                                         \
        if (!need_status((call), &need_err, #call, __FILE__, __LINE__)) \
            return false;                                               \
    } while (0)

/* The err argument for calls inside NEED_OK. */
#define ERR (&need_err)

static inline bool need_status(osc_status status, const osc_err *err, const char *text,
                               const char *file, int line)
{
    return tap_check(status == OSC_OK, file, line, "%s: %s: %s", text, osc_status_name(status),
                     err->message);
}

/* Runs body in a child with the "NAME=value" settings (NULL-terminated); its wait status. */
static inline int child_status(bool (*body)(void), const char *const *settings)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        static char texts[16][1024];
        for (int i = 0; settings != NULL && settings[i] != NULL && i < 16; i++) {
            (void)snprintf(texts[i], sizeof texts[i], "%s", settings[i]);
            (void)putenv(texts[i]);
        }
        bool ok = body();
        exit(ok ? 0 : 1); /* not _exit: leaks of the child count */
    }
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static inline bool child_passes(bool (*body)(void), const char *const *settings)
{
    int status = child_status(body, settings);
    if (status != 0)
        tap_note("child ended with wait status 0x%x", (unsigned)status);
    return status == 0;
}

/* No cache on disk, small memory: what most tests want. */
#define PLAIN            "TORCH_NEURONX_DISABLE_NEFF_CACHE=1", "OPSCOPE_HBM_BYTES=64M"
#define CHILD(body, ...) TAP_OK(child_passes((body), (const char *const[]){__VA_ARGS__, NULL}))

#endif
