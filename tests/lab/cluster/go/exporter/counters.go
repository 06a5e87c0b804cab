// Copyright: gpu.fleet contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// counter is one line of the metrics file: field, Prometheus type, help.
type counter struct{ field, kind, help string }

var kinds = map[string]bool{"gauge": true, "counter": true, "label": true, "histogram": true, "summary": true, "untyped": true}

// readCounters reads the metrics file; its errors read as dcgm-exporter's, which dies of them, too.
func readCounters(path string) ([]counter, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("could not open the metrics file: %w", err)
	}
	defer file.Close()
	var counters []counter
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		found, err := parseCounter(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, number, err)
		}
		counters = append(counters, found)
	}
	return counters, lines.Err()
}

func parseCounter(line string) (counter, error) {
	parts := strings.Split(line, ",")
	if len(parts) != 3 {
		return counter{}, fmt.Errorf("expected 3 fields, found %d: %q", len(parts), line)
	}
	found := counter{strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2])}
	if !known(found.field) {
		return counter{}, fmt.Errorf("could not find DCGM field; err: %q", found.field)
	}
	if !kinds[found.kind] {
		return counter{}, fmt.Errorf("could not find Prometheus metric type; err: %q", found.kind)
	}
	return found, nil
}

func known(field string) bool {
	_, numeric := fields[field]
	_, text := labels[field]
	return numeric || text || others[field]
}
