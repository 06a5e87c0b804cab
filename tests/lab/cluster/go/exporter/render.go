// Copyright: gpu.fleet contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// render writes the series of all devices, metric after metric, in Prometheus' text format.
func render(w io.Writer, counters []counter, devices []device, pods map[string]pod) {
	tags := make([]string, len(devices))
	for at, one := range devices {
		tags[at] = strings.Join(append(base(one), extra(counters, one, pods)...), ",")
	}
	for _, metric := range counters {
		read, found := fields[metric.field]
		if !found || metric.kind == "label" {
			continue
		}
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", metric.field, metric.help, metric.field, metric.kind)
		for at, one := range devices {
			fmt.Fprintf(w, "%s{%s} %s\n", metric.field, tags[at], strconv.FormatFloat(read(one), 'f', -1, 64))
		}
	}
}

func base(d device) []string {
	tags := []string{
		tag("gpu", strconv.Itoa(d.index)), tag("UUID", d.uuid), tag("pci_bus_id", d.bus),
		tag("device", "nvidia"+strconv.Itoa(d.minor)), tag("modelName", d.model),
	}
	if d.profile != "" {
		tags = append(tags, tag("GPU_I_PROFILE", d.profile), tag("GPU_I_ID", strconv.Itoa(d.instance)))
	}
	return tags
}

func extra(counters []counter, d device, pods map[string]pod) []string {
	var tags []string
	if host := hostname(); host != "" {
		tags = append(tags, tag("Hostname", host))
	}
	for _, metric := range counters {
		if read, found := labels[metric.field]; found && metric.kind == "label" {
			tags = append(tags, tag(metric.field, read(d)))
		}
	}
	for _, key := range d.keys {
		if owner, found := pods[key]; found {
			return append(tags, podTags(owner)...)
		}
	}
	return tags
}

func podTags(owner pod) []string {
	suffix := ""
	if isTrue(os.Getenv("DCGM_EXPORTER_USE_OLD_NAMESPACE")) {
		suffix = "_name"
	}
	names := []string{"container" + suffix, "namespace", "pod" + suffix}
	if suffix != "" {
		names[1] = "pod_namespace"
	}
	return []string{tag(names[0], owner.container), tag(names[1], owner.namespace), tag(names[2], owner.name)}
}

func hostname() string {
	if isTrue(os.Getenv("DCGM_EXPORTER_NO_HOSTNAME")) {
		return ""
	}
	if node := os.Getenv("NODE_NAME"); node != "" {
		return node
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func tag(name, value string) string {
	return name + "=" + strconv.Quote(value)
}
