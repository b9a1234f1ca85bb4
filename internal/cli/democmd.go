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

// newDemo is the whole story on an embedded network, offline and in less than two minutes.
func newDemo() *cobra.Command {
	var o demo.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Fine-tune an embedded network on letters it never saw",
		Long: `demo loads a small convolutional network that PyTorch trained on digits, gives it a
head for eight letters, inserts a layer, fine-tunes it on rendered pictures, saves it
and loads it again. Nothing is fetched; everything ends up in one directory.`,
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
	c.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON instead of words")
	c.Flags().StringVar(&o.Dir, "dir", "", "where results go (default: a new temporary directory)")
	c.Flags().IntVar(&o.Epochs, "epochs", 0, "passes over the pictures (default 12)")
	c.Flags().Uint64Var(&o.Seed, "seed", 0, "of pictures, weights and order")
	return c
}
