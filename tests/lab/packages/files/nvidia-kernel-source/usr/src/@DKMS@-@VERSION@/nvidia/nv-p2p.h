/* Peer-to-peer interface of nvidia.ko, for modules of others: as much of it as the simulated modules use. */
#ifndef _NV_P2P_H_
#define _NV_P2P_H_

int nvidia_p2p_get_pages(u64 p2p_token, u32 va_space, u64 virtual_address, u64 length, void **page_table,
                         void (*free_callback)(void *data), void *data);
int nvidia_p2p_put_pages(u64 p2p_token, u32 va_space, u64 virtual_address, void *page_table);

#endif
