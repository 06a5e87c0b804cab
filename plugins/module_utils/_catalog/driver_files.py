# Copyright: gpu.fleet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the user-space driver's files that containers get, and where they may be. Private to this collection.

Source: NVIDIA driver README, "Listing of Installed Components", and what NVIDIA Container Toolkit 1.20.0 (2026-08)
injects. A file that is not listed here does not reach a container, whatever the host has.
"""

from __future__ import annotations

LIBRARY_DIRECTORIES = (
    "/",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu/nvidia/current",
    "/lib/aarch64-linux-gnu/nvidia/current",
)

# Searched after the PATH of the caller.
PROGRAM_DIRECTORIES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")

PROGRAMS = (
    "nvidia-smi",
    "nvidia-debugdump",
    "nvidia-persistenced",
    "nvidia-cuda-mps-control",
    "nvidia-cuda-mps-server",
    "nvidia-imex",
    "nvidia-imex-ctl",
)
GRAPHICS_PROGRAMS = ("nvidia-xconfig",)

# The only driver library whose name does not end in the driver version and that CUDA needs all the same.
LEGACY_LIBRARIES = ("libnvidia-nvvm70.so.*",)

# Loaders of other vendors' making; feature flag enable-explicit-driver-libraries asks for them.
EXPLICIT_LIBRARIES = (
    "libEGL.so",
    "libGL.so",
    "libGLESv1_CM.so",
    "libGLESv2.so",
    "libGLX.so",
    "libGLdispatch.so",
    "libOpenCL.so",
    "libOpenGL.so",
    "libnvidia-api.so",
    "libnvidia-egl-xcb.so",
    "libnvidia-egl-xlib.so",
)

# EGL platform libraries have versions of their own.
EGL_PLATFORM_LIBRARIES = (
    "libnvidia-egl-gbm.so.*.*",
    "libnvidia-egl-wayland.so.*.*",
    "libnvidia-egl-wayland2.so.*.*",
    "libnvidia-egl-xcb.so.*.*",
    "libnvidia-egl-xlib.so.*.*",
)

# Names to which ".<driver version>" is added.
ALLOCATOR = "libnvidia-allocator.so"
VULKAN_PRODUCER = "libnvidia-vulkan-producer.so"
GLX_SERVER = "libglxserver_nvidia.so"
XORG_DRIVER = "nvidia_drv.so"

XORG_MODULE_DIRECTORIES = (
    "modules/drivers",
    "modules/extensions",
    "modules/updates/drivers",
    "modules/updates/extensions",
)
XORG_ROOTS = ("/usr/lib/xorg", "/usr/lib64/xorg", "/usr/X11R6/lib", "/usr/X11R6/lib64")

SOCKET_DIRECTORIES = ("/run", "/var/run")
SOCKETS = ("nvidia-persistenced/socket", "nvidia-fabricmanager/socket")
MPS_DIRECTORY = "/tmp/nvidia-mps"

FIRMWARE_CLASS_PATH = "/sys/module/firmware_class/parameters/path"

CONFIG_DIRECTORY = "/etc"
DATA_DIRECTORIES = ("/usr/local/share", "/usr/share")

# Found under /etc or a data directory, seen in the container below /usr/share.
SHARE_CONFIGS = (
    "glvnd/egl_vendor.d/10_nvidia.json",
    "egl/egl_external_platform.d/15_nvidia_gbm.json",
    "egl/egl_external_platform.d/10_nvidia_wayland.json",
    "egl/egl_external_platform.d/09_nvidia_wayland2.json",
    "egl/egl_external_platform.d/20_nvidia_xcb.json",
    "egl/egl_external_platform.d/20_nvidia_xlib.json",
    "nvidia/nvoptix.bin",
    "X11/xorg.conf.d/10-nvidia.conf",
    "X11/xorg.conf.d/nvidia-drm-outputclass.conf",
)
# The same, seen in the container below /etc.
ETC_CONFIGS = ("OpenCL/vendors/nvidia.icd",)
# The same, and also looked for directly below the driver root (Google's COS).
VULKAN_CONFIGS = (
    "vulkan/icd.d/nvidia_icd.json",
    "vulkan/icd.d/nvidia_layers.json",
    "vulkan/implicit_layer.d/nvidia_layers.json",
)
# Some RPM packages put the machine into the name.
VULKAN_ICD_OF_MACHINE = {
    "x86_64": "vulkan/icd.d/nvidia_icd.x86_64.json",
    "aarch64": "vulkan/icd.d/nvidia_icd.aarch64.json",
}

CONTROL_NODES = ("/dev/nvidia-modeset", "/dev/nvidia-uvm-tools", "/dev/nvidia-uvm", "/dev/nvidiactl")

# WSL 2: what has to be in the driver store. Windows brings the files, so there is no version in their names.
WSL_LIBRARY_DIRECTORY = "/usr/lib/wsl/lib"
WSL_DXCORE = "libdxcore.so"
WSL_STORE_MARK = "libcuda.so.1.1"
WSL_STORE_FILES = (
    "libcuda.so.1.1",
    "libcuda_loader.so",
    "libnvidia-ptxjitcompiler.so.1",
    "libnvidia-ml.so.1",
    "libnvidia-ml_loader.so",
    "libnvdxgdmal.so.1",
    "nvcubins.bin",
    "nvidia-smi",
)
WSL_STORE_PATTERNS = ("*.so*", "*.bin", "*.dll")
