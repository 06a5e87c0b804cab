// Copyright: gpu.fleet contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// pod is who has a device.
type pod struct{ name, namespace, container string }

// readPods asks the kubelet who has which device; the key is a UUID.
func readPods() (map[string]pod, error) {
	socket := "/var/lib/kubelet/pod-resources/kubelet.sock"
	if set := os.Getenv("DCGM_POD_RESOURCES_KUBELET_SOCKET"); set != "" {
		socket = set
	}
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("kubelet's pod resources: %w", err)
	}
	defer connection.Close()
	limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	answer, err := podresources.NewPodResourcesListerClient(connection).List(limited, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("kubelet's pod resources at %s: %w", socket, err)
	}
	return byDevice(answer), nil
}

func byDevice(answer *podresources.ListPodResourcesResponse) map[string]pod {
	found := map[string]pod{}
	for _, one := range answer.GetPodResources() {
		for _, container := range one.GetContainers() {
			for _, devices := range container.GetDevices() {
				if !considered(devices.GetResourceName()) {
					continue
				}
				for _, id := range devices.GetDeviceIds() {
					uuid, _, _ := strings.Cut(id, "::") // a replica is <uuid>::<n>
					found[uuid] = pod{one.GetName(), one.GetNamespace(), container.GetName()}
				}
			}
		}
	}
	return found
}

// considered: as upstream, shared and renamed resources only when they are listed.
func considered(resource string) bool {
	listed := strings.Split(os.Getenv("NVIDIA_RESOURCE_NAMES"), ",")
	return resource == "nvidia.com/gpu" || strings.HasPrefix(resource, "nvidia.com/mig-") || slices.Contains(listed, resource)
}
