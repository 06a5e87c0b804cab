#!/bin/sh
if [ ! -e /proc/driver/nvidia/suspend ]; then
    exit 0
fi
case "$1" in
suspend|hibernate|resume) echo "$1" > /proc/driver/nvidia/suspend ;;
*) exit 1 ;;
esac
