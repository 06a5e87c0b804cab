/* Device files of the driver, made by the rules of nvidia-modprobe (its sources: 535 to 610). */
#ifndef SIMHW_NODES_H
#define SIMHW_NODES_H

#define NODE_PATH 4096
#define NODE_RULES "/proc/driver/nvidia/params" /* owner, mode and permission for the files of GPUs */

void node_rooted(char *path, const char *name); /* NODE_PATH bytes; below GPU_FLEET_SIM_ROOT when it is set */
int nodes_may_modify(void);                     /* ModifyDeviceFiles in NODE_RULES */
int node_major(const char *device);             /* from /proc/devices; -1 when it is not there */

/*
 * The file, and its link in /dev/char. `rules`: a file with DeviceFileUID, -GID, -Mode and whether the file may be made
 * or changed at all; NULL: root's, 666. All return 0, or -1.
 */
int node_make(int major, int minor, const char *path, const char *rules);
int node_make_capability(const char *file); /* a file below /proc/driver/nvidia, as an absolute path */
void node_make_capabilities(void);          /* for all of them */

#endif
