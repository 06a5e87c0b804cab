/*
 * Stand-in for nvidia-modprobe: loads a module and makes the files of its devices, on behalf of others (it is setuid).
 * As in the real one, -u, -s and -l take the place of the nvidia module: `-c 0 -u` makes no file of a GPU, and a
 * failure has no words.
 */
#define _GNU_SOURCE
#include "nodes.h"
#include "text.h"

#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GPU_MAJOR 195
#define CONTROL_MINOR 255
#define MODESET_MINOR 254
#define MINORS 64
#define FILES 256
#define SWITCH_RULES "/proc/driver/nvidia-nvswitch/permissions"
#define LINK_RULES "/proc/driver/nvidia-nvlink/permissions"

struct request {
    int minors, files, unified, modeset, nvswitch, nvlink, online;
    int minor[MINORS];
    const char *file[FILES];
};

static int is_loaded(const char *module)
{
    char name[64], path[NODE_PATH];
    snprintf(name, sizeof name, "/sys/module/%s/initstate", module);
    for (char *letter = name; *letter; letter++)
        if (*letter == '-')
            *letter = '_';
    node_rooted(path, name);
    return !access(path, R_OK);
}

/* The first word of a file, or "" . */
static void read_word(const char *name, char *word, size_t size)
{
    char path[NODE_PATH];
    node_rooted(path, name);
    *word = 0;
    FILE *file = fopen(path, "r");
    if (file && !fgets(word, size, file))
        *word = 0;
    if (file)
        fclose(file);
    word[strcspn(word, "\n")] = 0;
}

/* A display controller of NVIDIA. */
static int is_gpu(const char *address)
{
    char name[512], vendor[32], class[32];
    snprintf(name, sizeof name, "/sys/bus/pci/devices/%s/vendor", address);
    read_word(name, vendor, sizeof vendor);
    snprintf(name, sizeof name, "/sys/bus/pci/devices/%s/class", address);
    read_word(name, class, sizeof class);
    return !strcmp(vendor, "0x10de") && !strncmp(class, "0x03", 4);
}

static int has_gpus(void)
{
    char path[NODE_PATH];
    int found = 0;
    node_rooted(path, "/sys/bus/pci/devices");
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        found |= is_gpu(entry->d_name);
    if (folder)
        closedir(folder);
    return found;
}

/* Whether the module is there afterwards: modprobe's own words and status do not count. */
static int load(const char *module)
{
    char program[256], path[NODE_PATH];
    if (is_loaded(module))
        return 0;
    if (geteuid() || !has_gpus())
        return -1;
    read_word("/proc/sys/kernel/modprobe", program, sizeof program);
    node_rooted(path, *program ? program : "/sbin/modprobe");
    pid_t pid = fork();
    if (!pid) {
        if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
            execl(path, "modprobe", module, (char *)0);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, 0, 0);
    return is_loaded(module) ? 0 : -1;
}

static int make_gpu(int minor)
{
    char path[32];
    if (minor == CONTROL_MINOR)
        copy_text(path, sizeof path, "/dev/nvidiactl");
    else
        snprintf(path, sizeof path, "/dev/nvidia%d", minor);
    return node_make(GPU_MAJOR, minor, path, NODE_RULES);
}

static int make_uvm(int minor)
{
    int major = node_major("nvidia-uvm");
    if (node_make(major, minor, "/dev/nvidia-uvm", 0))
        return -1;
    return node_make(major, minor + 1, "/dev/nvidia-uvm-tools", 0);
}

static int make_switch(int minor)
{
    char path[32];
    if (minor == CONTROL_MINOR)
        copy_text(path, sizeof path, "/dev/nvidia-nvswitchctl");
    else
        snprintf(path, sizeof path, "/dev/nvidia-nvswitch%d", minor);
    return node_make(node_major("nvidia-nvswitch"), minor, path, SWITCH_RULES);
}

static int make_each(const struct request *request, const char *module, int (*make)(int minor))
{
    int failed = load(module);
    for (int i = 0; !failed && i < request->minors; i++)
        failed = make(request->minor[i]);
    return failed;
}

/* Onlines memory that a coherent GPU adds. */
static int set_online_movable(void)
{
    char path[NODE_PATH];
    node_rooted(path, "/sys/devices/system/memory/auto_online_blocks");
    FILE *file = fopen(path, "r+");
    return !file || fputs("online_movable", file) < 0 || fclose(file) ? -1 : 0;
}

static int make_first(const struct request *request)
{
    if (request->nvlink)
        return load("nvidia") ? -1 : node_make(node_major("nvidia-nvlink"), 0, "/dev/nvidia-nvlink", LINK_RULES);
    if (request->nvswitch)
        return make_each(request, "nvidia", make_switch);
    if (request->unified)
        return make_each(request, "nvidia-uvm", make_uvm);
    if (request->online)
        return set_online_movable();
    return make_each(request, "nvidia", make_gpu);
}

static int carry_out(const struct request *request)
{
    int failed = make_first(request);
    if (!failed && request->modeset)
        failed = load("nvidia-modeset");
    if (!failed && request->modeset)
        failed = node_make(GPU_MAJOR, MODESET_MINOR, "/dev/nvidia-modeset", NODE_RULES);
    for (int i = 0; !failed && i < request->files; i++)
        failed = node_make_capability(request->file[i]);
    return failed ? 1 : 0;
}

static void give_up(const char *text, const char *program)
{
    fprintf(stderr, "\nERROR: ");
    fprintf(stderr, text, program);
    fprintf(stderr, "\n\n");
    exit(1);
}

static void print_help(void)
{
    puts("\nnvidia-modprobe (simulated): loads NVIDIA's kernel modules and makes their device files.\n\n"
         "nvidia-modprobe [options]\n\n"
         "  -v, --version\n"
         "  -h, --help\n"
         "  -c, --create-nvidia-device-file=MINOR-NUMBER   file of this number; several times for several\n"
         "  -u, --unified-memory                           UVM in place of the GPUs\n"
         "  -m, --modeset                                  module and file of nvidia-modeset, too\n"
         "  -s, --nvswitch                                 NVSwitches in place of the GPUs\n"
         "  -l, --nvlink                                   control file of NVLink\n"
         "  -f, --nvidia-capability-device-file=FILE       capability below /proc/driver/nvidia/capabilities\n"
         "  -a, --auto-online-movable                      memory of coherent GPUs goes online as movable\n");
}

static void add_minor(struct request *request, const char *text, const char *program)
{
    char *end;
    long minor = parse_number(text + (*text == '='), &end);
    if (*end || minor < 0)
        give_up("Invalid commandline, please run `%s --help` for usage information.", program);
    if (request->minors == MINORS)
        give_up("Too many NVIDIA character device files requested.", program);
    request->minor[request->minors++] = minor;
}

static void take(struct request *request, int option, const char *program)
{
    switch (option) {
    case 'c':
        add_minor(request, optarg, program);
        break;
    case 'f':
        if (request->files == FILES)
            give_up("Too many NVIDIA capability device files requested.", program);
        request->file[request->files++] = optarg;
        break;
    case 'u':
        request->unified = 1;
        break;
    case 'm':
        request->modeset = 1;
        break;
    case 's':
        request->nvswitch = 1;
        break;
    case 'l':
        request->nvlink = 1;
        break;
    case 'a':
        request->online = 1;
        break;
    default:
        give_up("Invalid commandline, please run `%s --help` for usage information.", program);
    }
}

int main(int count, char **words)
{
    static const struct option options[] = {{"version", no_argument, 0, 'v'},
                                            {"help", no_argument, 0, 'h'},
                                            {"create-nvidia-device-file", required_argument, 0, 'c'},
                                            {"unified-memory", no_argument, 0, 'u'},
                                            {"modeset", no_argument, 0, 'm'},
                                            {"nvswitch", no_argument, 0, 's'},
                                            {"nvlink", no_argument, 0, 'l'},
                                            {"nvidia-capability-device-file", required_argument, 0, 'f'},
                                            {"auto-online-movable", no_argument, 0, 'a'},
                                            {0, 0, 0, 0}};
    struct request request = {0};
    opterr = 0;
    for (int option; (option = getopt_long(count, words, "vhc:umslf:a", options, 0)) != -1;) {
        if (option == 'v') {
            puts("\nnvidia-modprobe (simulated)\n");
            return 0;
        }
        if (option == 'h') {
            print_help();
            return 0;
        }
        take(&request, option, words[0]);
    }
    if (optind < count)
        give_up("Invalid commandline, please run `%s --help` for usage information.", words[0]);
    return carry_out(&request);
}
