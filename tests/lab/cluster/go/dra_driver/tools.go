//go:build tools

// Package tools names the programs of this folder, so that go.mod and go.sum cover them.
package tools

import (
	_ "sigs.k8s.io/dra-driver-nvidia-gpu/cmd/gpu-kubelet-plugin"
)
