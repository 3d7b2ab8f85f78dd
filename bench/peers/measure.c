/*
 * measure.c - runs a command and says what it cost: wall time, processor time, peak memory.
 *
 *     measure OUT COMMAND...        the command's stdout goes to /dev/null; OUT gets one JSON object
 *
 * A program of its own, since a process that a large interpreter starts inherits the interpreter's peak memory
 * (Linux keeps the maximum across exec). This one has a megabyte.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run(char **command)
{
    int null = open("/dev/null", O_WRONLY);
    if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
        _exit(126);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct rusage used;
    int status;
    if (argc < 3) {
        fprintf(stderr, "usage: measure OUT COMMAND...\n");
        return 2;
    }
    double start = now();
    pid_t child = fork();
    if (child == 0)
        run(argv + 2);
    if (child < 0 || wait4(child, &status, 0, &used) < 0) {
        perror("measure");
        return 1;
    }
    double wall = now() - start;
    FILE *out = fopen(argv[1], "w");
    if (!out) {
        perror(argv[1]);
        return 1;
    }
    fprintf(out, "{\"wall_s\": %.6f, \"cpu_s\": %.6f, \"peak_bytes\": %lld}\n", wall,
            seconds(used.ru_utime) + seconds(used.ru_stime), (long long)used.ru_maxrss * 1024);
    if (fclose(out) != 0)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
