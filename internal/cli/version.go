package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/spf13/cobra"
)

// about is the output of version, and its JSON form.
type about struct {
	Version    string         `json:"version"`
	Go         string         `json:"go"`
	System     string         `json:"system"`
	Processors int            `json:"processors"`
	Kernel     kernel.Info    `json:"kernel"`
	Opsets     map[string]int `json:"opsets"`    // newest version known of each domain
	NewModels  int            `json:"new_opset"` // in which new models are written
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of graft and Go, and the kernels used on this machine",
		Long: `version prints the version of this binary and what it uses on this machine: the instruction set of the
kernels with the largest block of the matrix product, processors and threads, and the newest
operator-set version that it supports for each domain.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a := aboutThis()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(a)
			}
			return a.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func aboutThis() about {
	a := about{
		Version: "unknown", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Processors: runtime.NumCPU(), Kernel: kernel.About(), Opsets: map[string]int{}, NewModels: nn.LatestOpset,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		a.Version = versionOf(info)
	}
	for _, o := range std.Operators().List() {
		switch o.Domain {
		case "":
			a.Opsets["ai.onnx"] = max(a.Opsets["ai.onnx"], o.Latest())
		case "graft": // operators of lowerings, in no file
		default:
			a.Opsets[o.Domain] = max(a.Opsets[o.Domain], o.Latest())
		}
	}
	return a
}

// versionOf returns the version of the module, or the revision that it was built from, if it is known.
func versionOf(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version != "" && version != "(devel)" {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}

func (a about) print(w io.Writer) error {
	var sets []string
	for _, domain := range slices.Sorted(maps.Keys(a.Opsets)) {
		sets = append(sets, fmt.Sprintf("%s %d", domain, a.Opsets[domain]))
	}
	_, err := fmt.Fprintf(w, `graft %s
go           %s %s
kernels      %s (%s micro-kernel)
processors   %d, threads %d
opset        %s; new models %d
`, a.Version, a.Go, a.System, a.Kernel.Kernels, a.Kernel.Micro, a.Processors, a.Kernel.Threads, strings.Join(sets, ", "), a.NewModels)
	return err
}
