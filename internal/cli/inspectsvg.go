package cli

import (
	"fmt"
	"io"

	"github.com/graft-ml/graft/internal/diagram"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/spf13/cobra"
)

// drawGraph writes the drawing of --svg to path; "-" is standard output.
func drawGraph(cmd *cobra.Command, path string, g *nn.Graph, all bool) error {
	for _, name := range []string{"json", "brief", "weights"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--svg draws instead of printing: leave out --%s", name)
		}
	}
	if err := checkEnding("--svg", path, ".svg"); err != nil && path != "-" {
		return err
	}
	draw := func(w io.Writer) error { return diagram.Options{All: all}.SVG(w, g) }
	if path == "-" {
		return draw(cmd.OutOrStdout())
	}
	if err := checkFile("--svg", path); err != nil {
		return err
	}
	return disk.WriteFile(path, draw)
}
