#!/bin/sh
# Stand-in for NVIDIA's start script: --mode start|stop [--fm-config-file FILE].
pid=/run/nvidia-fabricmanager/nv-fabricmanager.pid
case "$2" in
start) exec /usr/bin/nv-fabricmanager -c "${4:-/usr/share/nvidia/nvswitch/fabricmanager.cfg}" ;;
stop) [ ! -e "$pid" ] || kill "$(cat "$pid")" ;;
*) exit 1 ;;
esac
