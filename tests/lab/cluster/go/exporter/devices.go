// Copyright: gpu.fleet contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// device is what gets series of its own: a GPU, or a GPU instance of one in MIG mode.
type device struct {
	index    int
	minor    int
	uuid     string
	bus      string
	model    string
	profile  string // of the GPU instance, as in 1g.10gb; "" for a whole GPU
	instance int    // id of the GPU instance
	keys     []string
	gpu      nvml.Device
	own      nvml.Device // the MIG device, or the GPU again
}

func startNVML() error {
	if ret := nvml.Init(); ret != nvml.SUCCESS {
		return fmt.Errorf("NVML does not start: %s (needs the nvidia runtime and NVIDIA_VISIBLE_DEVICES)", nvml.ErrorString(ret))
	}
	return nil
}

func readDevices() ([]device, error) {
	count, ret := nvml.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("counting GPUs: %s", nvml.ErrorString(ret))
	}
	var found []device
	for index := range count {
		gpu, ret := nvml.DeviceGetHandleByIndex(index)
		if ret != nvml.SUCCESS {
			return nil, fmt.Errorf("GPU %d: %s", index, nvml.ErrorString(ret))
		}
		whole := readGPU(gpu, index)
		if instances := readInstances(whole); len(instances) > 0 {
			found = append(found, instances...)
		} else {
			found = append(found, whole)
		}
	}
	return found, nil
}

func readGPU(gpu nvml.Device, index int) device {
	minor, _ := gpu.GetMinorNumber()
	pci, _ := gpu.GetPciInfo()
	found := device{index: index, minor: minor, gpu: gpu, own: gpu}
	found.uuid, found.model = text(gpu.GetUUID()), text(gpu.GetName())
	found.bus = strings.ToUpper(fmt.Sprintf("%08x:%02x:%02x.0", pci.Domain, pci.Bus, pci.Device))
	found.keys = []string{found.uuid, strconv.Itoa(index)}
	return found
}

// readInstances gives one device for each GPU instance, which may hold several MIG devices.
func readInstances(whole device) []device {
	mode, _, ret := whole.gpu.GetMigMode()
	if ret != nvml.SUCCESS || mode != nvml.DEVICE_MIG_ENABLE {
		return nil
	}
	limit, _ := whole.gpu.GetMaxMigDeviceCount()
	byInstance := map[int]int{}
	var found []device
	for number := range limit {
		mig, ret := whole.gpu.GetMigDeviceHandleByIndex(number)
		if ret != nvml.SUCCESS {
			continue
		}
		id, _ := mig.GetGpuInstanceId()
		uuid := text(mig.GetUUID())
		if at, seen := byInstance[id]; seen {
			found[at].keys = append(found[at].keys, uuid)
			continue
		}
		one := whole
		one.own, one.instance, one.keys, one.profile = mig, id, []string{uuid}, profile(text(mig.GetName()))
		byInstance[id] = len(found)
		found = append(found, one)
	}
	return found
}

// profile takes "NVIDIA A100-SXM4-40GB MIG 1g.5gb" apart.
func profile(name string) string {
	_, after, _ := strings.Cut(name, " MIG ")
	words := strings.Fields(after)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

func (d device) memory() nvml.Memory_v2 {
	if value, ret := d.own.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
		return value
	}
	value, _ := d.own.GetMemoryInfo()
	return nvml.Memory_v2{Total: value.Total, Free: value.Free, Used: value.Used}
}

func driverVersion() string { return text(nvml.SystemGetDriverVersion()) }

func nvmlVersion() string { return text(nvml.SystemGetNVMLVersion()) }
