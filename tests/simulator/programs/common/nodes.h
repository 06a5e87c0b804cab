/* Device files of the driver, as nvidia-modprobe makes them. */
#ifndef SIMHW_NODES_H
#define SIMHW_NODES_H

int nodes_may_modify(void);                              /* ModifyDeviceFiles in /proc/driver/nvidia/params */
int node_major(const char *device);                      /* from /proc/devices; -1 when it is not there */
int node_make(const char *path, int major, int minor, int mode);
int node_make_capability(const char *file);              /* a file below /proc/driver/nvidia/capabilities */
void node_make_capabilities(void);                       /* for all of them */

#endif
