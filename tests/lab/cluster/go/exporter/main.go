// Copyright: gpu.fleet contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// Command exporter is a stand-in for NVIDIA's dcgm-exporter, whose image cannot be had: it serves the exporter's default
// series on :9400, with values from the NVML of the driver that the container was given, and understands these of its
// settings: DCGM_EXPORTER_LISTEN, DCGM_EXPORTER_COLLECTORS, DCGM_EXPORTER_KUBERNETES, DCGM_EXPORTER_NO_HOSTNAME,
// DCGM_EXPORTER_USE_OLD_NAMESPACE, DCGM_POD_RESOURCES_KUBELET_SOCKET, NVIDIA_RESOURCE_NAMES, NODE_NAME.
// What NVML does not tell (profiling fields) is 0.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
)

const version = "dcgm-exporter stand-in of the gpu.fleet lab (default series of dcgm-exporter 4.8)"

func main() {
	showVersion := flag.Bool("version", false, "print the version")
	collectors := option("f", "DCGM_EXPORTER_COLLECTORS", "/etc/dcgm-exporter/default-counters.csv", "file with the metrics")
	listen := option("a", "DCGM_EXPORTER_LISTEN", ":9400", "address of /metrics and /health")
	kubernetes := option("k", "DCGM_EXPORTER_KUBERNETES", "false", "add the pod that has a GPU")
	flag.Parse()
	if *showVersion {
		fmt.Println(version)
		return
	}
	counters, err := readCounters(*collectors)
	if err != nil {
		log.Fatal(err)
	}
	if err := startNVML(); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "OK") })
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) { serve(w, counters, isTrue(*kubernetes)) })
	log.Printf("%s, listening on %s", version, *listen)
	log.Fatal(http.ListenAndServe(*listen, nil))
}

func serve(w http.ResponseWriter, counters []counter, kubernetes bool) {
	devices, err := readDevices()
	if err != nil {
		log.Print(err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var pods map[string]pod
	if kubernetes {
		// As upstream: without the kubelet the metrics go on, without pods.
		if pods, err = readPods(); err != nil {
			log.Print(err)
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	render(w, counters, devices, pods)
}

// option is a string flag with the default of an environment variable.
func option(name, variable, value, usage string) *string {
	if set, found := os.LookupEnv(variable); found {
		value = set
	}
	return flag.String(name, value, usage+" ($"+variable+")")
}

func isTrue(text string) bool { return text == "1" || strings.EqualFold(text, "true") }
