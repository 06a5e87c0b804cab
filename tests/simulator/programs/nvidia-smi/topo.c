/* nvidia-smi topo: GPUs and the CPUs near them. No NVML call tells of network adapters: none are shown. */
#include "smi.h"

#include <string.h>

#define CPU_WORDS 16
#define NODE_WORDS 4
#define WORD_BITS (8 * sizeof(unsigned long))

/* NVLinks between two GPUs: those that end at the other one, or through switches as many as both have there. */
static unsigned links_between(nvmlDevice_t one, const char *other_bus, unsigned *switched)
{
    unsigned direct = 0;
    for (unsigned link = *switched = 0; link < NVML_NVLINK_MAX_LINKS; link++) {
        unsigned on = 0, type = NVML_NVLINK_REMOTE_GPU;
        nvmlPciInfo_t remote;
        if (nvml.DeviceGetNvLinkState(one, link, &on) || !on)
            continue;
        nvml.DeviceGetNvLinkRemoteDeviceType(one, link, &type);
        if (type == NVML_NVLINK_REMOTE_SWITCH)
            ++*switched;
        else if (!nvml.DeviceGetNvLinkRemotePciInfo_v2(one, link, &remote))
            direct += !strcasecmp(remote.busId, other_bus);
    }
    return direct;
}

static unsigned nvlinks(nvmlDevice_t one, nvmlDevice_t other)
{
    char bus[2][32];
    unsigned switched[2];
    bus_of(one, bus[0]);
    bus_of(other, bus[1]);
    unsigned direct = links_between(one, bus[1], &switched[0]);
    links_between(other, bus[0], &switched[1]);
    return direct + (switched[0] < switched[1] ? switched[0] : switched[1]);
}

static const char *path_between(nvmlDevice_t one, nvmlDevice_t other)
{
    static const char *const names[] = {"PIX", "PIX", "PXB", "PHB", "NODE", "SYS"};
    unsigned level = 0;
    nvmlReturn_t code = nvml.DeviceGetTopologyCommonAncestor(one, other, &level);
    return code ? reason(code) : level / 10 < COUNT(names) ? names[level / 10] : "SYS";
}

static void print_pair(nvmlDevice_t one, nvmlDevice_t other, int with_links)
{
    unsigned links = with_links ? nvlinks(one, other) : 0;
    if (one == other)
        printf("\t X ");
    else if (links)
        printf("\tNV%u", links);
    else
        printf("\t%s", path_between(one, other));
}

/* A bit set as 0-23,48-71. */
static void print_set(const unsigned long *set, unsigned words)
{
    const char *comma = "";
    for (unsigned bit = 0, end; bit < words * WORD_BITS; bit = end + 1) {
        for (end = bit; end < words * WORD_BITS && set[end / WORD_BITS] >> end % WORD_BITS & 1;)
            end++;
        if (end == bit)
            continue;
        printf(end - bit > 1 ? "%s%u-%u" : "%s%u", comma, bit, end - 1);
        comma = ",";
    }
}

static void print_affinity(nvmlDevice_t gpu)
{
    unsigned long cpus[CPU_WORDS] = {0}, nodes[NODE_WORDS] = {0};
    unsigned node = 0;
    printf("\t");
    if (!nvml.DeviceGetCpuAffinity(gpu, CPU_WORDS, cpus))
        print_set(cpus, CPU_WORDS);
    printf("\t");
    if (nvml.DeviceGetMemoryAffinity(gpu, NODE_WORDS, nodes, 0))
        printf("N/A");
    else
        print_set(nodes, NODE_WORDS);
    if (!nvml.DeviceGetNumaNodeId(gpu, &node))
        printf("\t\t%u\n", node);
    else
        printf("\t\tN/A\n");
}

static void print_matrix(const struct selection *gpus, int with_links)
{
    printf("\t\033[4m");
    for (unsigned i = 0; i < gpus->count; i++)
        printf("GPU%u\t", gpus->index[i]);
    printf("CPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n");
    for (unsigned i = 0; i < gpus->count; i++) {
        printf("GPU%u", gpus->index[i]);
        for (unsigned k = 0; k < gpus->count; k++)
            print_pair(gpus->gpu[i], gpus->gpu[k], with_links);
        print_affinity(gpus->gpu[i]);
    }
    puts(
        "\nLegend:\n\n"
        "  X    = Self\n"
        "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
        "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n"
        "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
        "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)\n"
        "  PIX  = Connection traversing at most a single PCIe bridge");
    if (with_links)
        puts("  NV#  = Connection traversing a bonded set of # NVLinks");
}

/* Letters of -p2p, in the order of NVML_P2P_CAPS_INDEX_*. */
static const char p2p_letters[] = "rwnap";

/* The first of the wanted capabilities that is not there decides. */
static const char *p2p_between(nvmlDevice_t one, nvmlDevice_t other, const char *letters)
{
    static const char *const words[] = {"OK", "CNS", "GNS", "TNS", "NS", "NS", "U"};
    for (; *letters; letters++) {
        unsigned status = 0, capability = strchr(p2p_letters, *letters) - p2p_letters;
        nvmlReturn_t code = nvml.DeviceGetP2PStatus(one, other, capability, &status);
        if (code || status)
            return code ? reason(code) : status < COUNT(words) ? words[status] : "U";
    }
    return words[0];
}

static void print_p2p(const struct selection *gpus, const char *letters)
{
    printf(" \t");
    for (unsigned i = 0; i < gpus->count; i++)
        printf("GPU%u\t", gpus->index[i]);
    for (unsigned i = 0; i < gpus->count; i++) {
        printf("\n GPU%u\t", gpus->index[i]);
        for (unsigned k = 0; k < gpus->count; k++)
            printf("%s\t", i == k ? "X" : p2p_between(gpus->gpu[i], gpus->gpu[k], letters));
    }
    puts("\n\nLegend:\n\n"
         "  X    = Self\n"
         "  OK   = Status Ok\n"
         "  CNS  = Chipset not supported\n"
         "  GNS  = GPU not supported\n"
         "  TNS  = Topology not supported\n"
         "  NS   = Not supported\n"
         "  U    = Unknown");
}

enum { OPTION_HELP = 1, OPTION_MATRIX, OPTION_MATRIX_PCI, OPTION_P2P };

static const struct option_row options[] = {{"-h", "--help", OPTION_HELP, WITHOUT_VALUE},
                                            {"-m", "--matrix", OPTION_MATRIX, WITHOUT_VALUE},
                                            {"-mp", "--matrix_pci", OPTION_MATRIX_PCI, WITHOUT_VALUE},
                                            {"-p2p", "--p2pstatus", OPTION_P2P, WITH_VALUE}};

static const char not_simulated[] =
    " -i --id -c --cpu -n --nearest_gpus -p --gpu_path -C --numa-ids -M --memory -gnid --gpu-numa-id -nvme --nvme ";

static int help(void)
{
    puts("\n    topo -- Display topological information about the system.\n\n"
         "    Usage: nvidia-smi topo [options]\n\n"
         "    Options include:\n"
         "    [-h | --help]: Display help information\n"
         "    [-m | --matrix]: Display the GPUDirect communication matrix for the system.\n"
         "    [-mp | --matrix_pci]: Display the GPUDirect communication matrix for the system (PCI Only).\n"
         "    [-p2p | --p2pstatus]: Peer-to-peer status between GPUs, of the capabilities that letters name:\n"
         "                          r read, w write, n NVLink, a atomics, p PCIe.\n");
    return 0;
}

static int show(int verb, const char *letters)
{
    struct selection gpus;
    int failed = smi_start();
    if (failed)
        return failed;
    failed = smi_select(&gpus, 0);
    if (!failed && verb == OPTION_P2P)
        print_p2p(&gpus, letters);
    else if (!failed)
        print_matrix(&gpus, verb == OPTION_MATRIX);
    nvml.Shutdown();
    return failed;
}

int smi_topo(int count, char **words)
{
    struct command_line line = {count, 1, words};
    const char *value, *letters = "";
    int verb = 0, missing = refuse_missing(not_simulated, count, words);
    if (missing)
        return missing;
    for (int key; (key = next_option(options, COUNT(options), &line, &value)); verb = key) {
        if (key < 0)
            return EXIT_ARGUMENT;
        letters = value ? value : letters;
    }
    if (letters[strspn(letters, p2p_letters)])
        return complain("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.");
    return verb <= OPTION_HELP ? help() : show(verb, letters);
}
