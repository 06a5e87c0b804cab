#!/bin/sh
# Stand-in for NVIDIA's start script: starts nvlsm where an InfiniBand bridge leads to NVLink 5 switches, then the daemon.
usage="Usage: $0 [-h] [-m|--mode] [--fm-config-file] [--fm-pid-file] [--nvlsm-config-file]"
configuration=/usr/share/nvidia/nvswitch/fabricmanager.cfg
folder=/run/nvidia-fabricmanager
mode=
while [ $# -gt 0 ]; do
    case "$1" in
    -m | --mode) mode=$2 ;;
    --fm-config-file) configuration=$2 ;;
    --fm-pid-file | --nvlsm-config-file) ;;
    *)
        echo "$usage"
        exit 0
        ;;
    esac
    shift 2
done

stop() {
    for name in nv-fabricmanager nvlsm; do
        [ ! -e "$folder/$name.pid" ] || kill "$(cat "$folder/$name.pid")"
    done
}

# A port whose capability mask has IsSMdisabled (bit 10) may not run the subnet manager.
management_port() {
    for device in /sys/class/infiniband/*; do
        grep -qs SW_MNG "$device/device/vpd" || continue
        [ $(($(cat "$device/ports/1/cap_mask") & 0x400)) -eq 0 ] || continue
        echo "0x$(tr -d : <"$device/node_guid")"
        return
    done
}

start() {
    set -- -c "$configuration"
    if grep -qs SW_MNG /sys/class/infiniband/*/device/vpd; then
        echo "Detected NVL5+ system"
        guid=$(management_port)
        if [ -x /opt/nvidia/nvlsm/sbin/nvlsm ] && /opt/nvidia/nvlsm/sbin/nvlsm -g "$guid"; then
            set -- "$@" -g "$guid"
        fi
    else
        echo "Detected Pre-NVL5 system"
    fi
    /usr/bin/nv-fabricmanager "$@" && return
    code=$?
    echo "\"/usr/bin/nv-fabricmanager $*\" failed! Exit code: $code"
    stop
    exit $code
}

case "$mode" in
start) start ;;
stop) stop ;;
*)
    echo "$usage"
    exit 0
    ;;
esac
