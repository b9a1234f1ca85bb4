package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/train"
	"github.com/spf13/cobra"
)

// newDemo returns the demo command: the whole workflow on an embedded network, offline, in less than two minutes.
func newDemo() *cobra.Command {
	var o demo.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Load, edit, fine-tune and save an embedded network: a demonstration",
		Long: `demo loads a small convolutional network that PyTorch trained on digits, replaces its classifier by
one for eight letters, inserts a layer, fine-tunes it on rendered images, saves it and loads it
again. Nothing is downloaded; all files are written to one folder.`,
		Example: "  graft demo\n  graft demo --json --dir out",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Epochs < 0 || o.Epochs == 0 && c.Flags().Changed("epochs") {
				return fmt.Errorf("--epochs %d: want 1 or more", o.Epochs)
			}
			if info, err := os.Stat(o.Dir); err == nil && !info.IsDir() {
				return fmt.Errorf("--dir %s: is a file, want a folder", o.Dir)
			}
			o.Out = c.OutOrStdout()
			if asJSON {
				o.Out = io.Discard
				o.Log = func(train.Event) {}
			}
			res, err := demo.Run(c.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(res)
			}
			fmt.Fprintf(c.OutOrStdout(), "model %s, curves %s, history %s\n", res.Model, res.Curves, res.History)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON instead of text")
	c.Flags().StringVar(&o.Dir, "dir", "", "output folder (default: a new temporary folder)")
	c.Flags().IntVar(&o.Epochs, "epochs", 0, "training epochs (default 12)")
	c.Flags().Uint64Var(&o.Seed, "seed", 0, "seed of images, weights and sample order")
	return c
}
