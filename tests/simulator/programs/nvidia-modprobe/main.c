/* Stand-in for nvidia-modprobe: loads the modules and makes the device files. */
#include "nodes.h"
#include "text.h"

#include <getopt.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL_MINOR 255
#define MODESET_MINOR 254

static int load(const char *module, const char *sign)
{
    int status;
    if (!access(sign, F_OK))
        return 0;
    pid_t pid = fork();
    if (!pid) {
        execl("/sbin/modprobe", "modprobe", module, (char *)0);
        _exit(127);
    }
    return pid < 0 || waitpid(pid, &status, 0) < 0 || status ? -1 : 0;
}

static int make_gpu(const char *minor)
{
    char path[32];
    snprintf(path, sizeof path, "/dev/nvidia%ld", parse_number(minor, 0));
    int major = node_major("nvidiactl");
    int failed = node_make("/dev/nvidiactl", major, CONTROL_MINOR, 0666);
    if (parse_number(minor, 0) == CONTROL_MINOR)
        return failed;
    return failed | node_make(path, major, parse_number(minor, 0), 0666);
}

static int make_uvm(void)
{
    if (load("nvidia-uvm", "/sys/module/nvidia_uvm"))
        return -1;
    int major = node_major("nvidia-uvm");
    return node_make("/dev/nvidia-uvm", major, 0, 0666) | node_make("/dev/nvidia-uvm-tools", major, 1, 0666);
}

static int make_modeset(void)
{
    if (load("nvidia-modeset", "/sys/module/nvidia_modeset"))
        return -1;
    return node_make("/dev/nvidia-modeset", node_major("nvidiactl"), MODESET_MINOR, 0666);
}

static int run(int option, const char *argument)
{
    switch (option) {
    case 'c':
        return make_gpu(*argument == '=' ? argument + 1 : argument);
    case 'u':
        return make_uvm();
    case 'm':
        return make_modeset();
    case 'f':
        return node_make_capability(argument);
    default:
        return -1;
    }
}

int main(int count, char **words)
{
    static const struct option options[] = {{"create-nvidia-device-file", required_argument, 0, 'c'},
                                            {"unified-memory", no_argument, 0, 'u'},
                                            {"modeset", no_argument, 0, 'm'},
                                            {"file", required_argument, 0, 'f'},
                                            {0, 0, 0, 0}};
    int failed = load("nvidia", "/sys/module/nvidia");
    for (int option; !failed && (option = getopt_long(count, words, "c:umf:", options, 0)) != -1;)
        failed = nodes_may_modify() ? run(option, optarg) : 0;
    return failed ? 1 : 0;
}
