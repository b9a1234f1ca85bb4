package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// training holds the flags of the train command.
type training struct {
	source
	dataset
	storage
	config  train.Config // what flags set directly
	ranks   rankFlags
	runtime runtimeFlags
	process *process

	optimizer, schedule, loss string
	settings                  settings
	warmup, smoothing         float64
	metrics                   []string
	head, headOnly            bool
	newHead                   bool // the model got a classifier, which was never trained
	full, fromScratch         bool
	policy                    string
	freePolicy                bool // data are a table, and no flag says how to train
	freeze                    []string
	output                    string
	asJSON                    bool
	fresh                     string // kind of the network to begin with; "": the model's

	weights            string // of classes
	balanced           bool
	mixup, cutmix      float64
	lrGroups           []string
	teacher            string
	alpha, temperature float64
	events, force      bool
	asStored, reset    bool
	recipe             string
	earlier            []byte      // settings of the run that is resumed
	resumed            fs.FileInfo // of its checkpoint
	dryRun             bool
	flagSet            *pflag.FlagSet
	free               func()         // releases the folder of the run; nil: it is not reserved
	blend              *table.Blended // of a new network with a linear model; nil: none was tried
}

func newTrain(p *process) *cobra.Command {
	t := training{process: p, runtime: runtimeFlags{process: p}}
	var named string // the recipe's model
	cmd := &cobra.Command{
		Use:   "train MODEL",
		Short: "Train or fine-tune a model on images, tables, texts or arrays",
		Long: `train fits a model to data and writes it, with the parameters of the best epoch, to the file of -o.

` + dataHelp + "\n\n" + preparingHelp + `

--val is the fraction of the data that is held out for validation, or other data; a folder with train and val is already
divided. If the classes of the data are not the model's, it gets a new classifier; --head replaces it in any case. --freeze
keeps layers from being trained, and records that in the file for later trainings. The loss is cross-entropy for classes and
the mean squared error for numbers, unless --loss says otherwise. A fixed batch size becomes symbolic.

By default the training policy is automatic, and its choices are printed: first the classifier is fitted, on features of the
frozen layers; then all layers are trained, at a rate found by trial, with lower rates near the input and a number of epochs that
depends on the size of the data. If that validates clearly worse than the classifier alone, it is undone. --head-only stops after
the classifier, --full keeps the second part in any case, --from-scratch is for models that were never trained; --policy names
one of these. Setting the optimizer, learning rate, schedule, warm-up, weight decay, moving average, accumulation or --freeze
selects --policy manual: one run with exactly these settings. Models that take a whole row of a table as one input, or encode its
columns themselves, are trained with these settings, too.

After each epoch the folder of --dir has a checkpoint, the best model, history.csv and curves.png; --tensorboard adds event
files. An interrupted run (ctrl-C) continues with --resume and ends with the same bytes as an uninterrupted one; settings that
changed are listed. If --dir already has another run, the next free number is appended. Preprocessing and class names are stored
in the model, where run, eval, predict and serve find them.

--recipe reads the values of flags from a YAML file ("epochs: 20"; lists for repeatable flags; "model: FILE" for MODEL); flags on
the command line take precedence. --dry-run reads the model and the data, prints all settings as such a recipe, with those that
would be chosen later as comments, and stops. Each run stores its recipe in --dir.

Class imbalance is reported. --class-weights auto weights each class by samples/(classes × its samples); 2,1,1 and
rose=2,tulip=0.5 set weights. --balanced samples all classes equally often. --lr-group 'layer4/*=1e-4' sets the learning rate of
parameters, or of all parameters of nodes; the first match counts. --teacher distills another model: the loss is --teacher-share ·
T²·KL(teacher ‖ student) at --temperature T plus the rest of cross-entropy.

--as-stored executes the training that is stored in the file's training_info (see graft export-step --training-info): loss, update
rule and learning rate are the file's. The output contains the state, so that the same command continues; --reset runs the file's
initialization first.`,
		Example: `  graft train squeezenet1.1.onnx --data flowers/ -o flowers.onnx
  graft train model.onnx --data table.csv --val test.csv --epochs 50 --patience 5 --lr 1e-2 -o out.onnx
  graft train model.onnx --data arrays.npz --optimizer sgd --momentum 0.9 --schedule cosine --warmup 0.05 -o out.onnx
  graft train cnn.onnx --data digits/ --class-weights auto --mixup 0.2 --augment trivial --tensorboard -o digits.onnx
  graft train small.onnx --data flowers/ --teacher flowers.onnx --temperature 4 --lr 1e-3 -o student.onnx
  graft train resnet.onnx --data flowers/ --lr 1e-3 --lr-group 'layer1/*=1e-5' --lr-group 'layer4/*=1e-4' -o flowers.onnx
  graft train --recipe train.yaml --epochs 3 --dry-run
  graft train squeezenet1.1.onnx --data flowers/ -o flowers.onnx --resume`,
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			if t.flagSet = cmd.Flags(); t.recipe != "" {
				named, err = applyRecipe(cmd, t.recipe)
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if t.data == "" && !t.asStored {
				return noData(args)
			}
			if err := t.storage.check(); err != nil {
				return err
			}
			if t.asStored {
				if err := p.single("train --as-stored"); err != nil {
					return err
				}
			}
			if err := p.connect(cmd); err != nil {
				return err
			}
			if err := t.ranks.settle(cmd, &t.config, p.others()); err != nil {
				return err
			}
			rt, err := t.runtime.open(cmd)
			if err != nil {
				return err
			}
			if rt != nil {
				t.config.Runtime = rt // not a nil Runtime, which is not a nil train.Runtime
			}
			if p.size > 1 {
				t.notes = append(t.notes, fmt.Sprintf("%d processes train together, threads of each: %d", p.size, runtime.GOMAXPROCS(0)))
			}
			if err := t.off(cmd); err != nil {
				return err
			}
			if err := t.lookAtRows(append(args, named)); err != nil {
				return err
			}
			if err := t.settlePolicy(cmd.Flags()); err != nil {
				return err
			}
			if t.reset && !t.asStored {
				return errors.New("--reset is for --as-stored; --from-scratch trains a model that was never trained")
			}
			if t.asStored && rt != nil {
				return errors.New("--as-stored executes the file's training in graft's engine: leave out --runtime")
			}
			if t.asStored {
				if len(args) == 0 && named != "" {
					args = []string{named}
				}
				if err := oneModel(cmd, args); err != nil {
					return err
				}
				return t.runStored(cmd.Context(), cmd.OutOrStdout(), args[0])
			}
			if t.fresh != "" {
				return t.begin(cmd.Context(), cmd.OutOrStdout(), args)
			}
			if len(args) == 0 && named != "" {
				args = []string{named}
			}
			if err := oneModel(cmd, args); err != nil {
				if len(args) == 0 && isTable(t.data) {
					err = fmt.Errorf("%w; --new tabular makes a network that fits a table", err)
				}
				return err
			}
			return t.run(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	}
	t.source.flags(cmd)
	t.storage.flags(cmd)
	t.dataset.flags(cmd)
	t.divideFlags(cmd)
	t.tableFlags(cmd)
	f, c := cmd.Flags(), &t.config
	f.BoolVar(&t.head, "head", false, "replace the classifier even if the classes are the same")
	f.BoolVar(&t.headOnly, "head-only", false, "train only the classifier")
	f.BoolVar(&t.full, "full", false, "train all layers, and keep the result even if it validates worse than the classifier alone")
	f.BoolVar(&t.fromScratch, "from-scratch", false, "train all layers at one rate, for a model that was never trained")
	f.StringVar(&t.policy, "policy", "auto", strings.Join(policies, ", "))
	f.StringArrayVar(&t.freeze, "freeze", nil, "nodes or parameters to freeze, by pattern, in this and later trainings; repeatable; none: unfreeze all")
	f.IntVar(&c.Epochs, "epochs", 0, "passes over the data; default: by its size, 10 with --policy manual")
	f.IntVar(&c.MicroBatch, "micro-batch", 0, "compute each batch in parts of this many samples, to save memory; 0: the whole batch at once")
	f.IntVar(&c.Batch, "batch", 0, "batch size; default: by the size of the data, 32 with --policy manual")
	f.BoolVar(&c.NoShuffle, "no-shuffle", false, "keep the order of the data in each epoch")
	t.fitFlags(cmd)
	t.ranks.flags(cmd)
	t.runtime.flags(cmd)
	f.StringVar(&c.Monitor, "monitor", "", "metric that decides which epoch is best; default: the validation loss")
	f.IntVar(&c.Patience, "patience", 0, "stop after this many epochs without improvement; 0: never")
	f.IntVar(&c.Keep, "keep", 0, "keep the models of this many of the best epochs in --dir")
	f.StringVar(&c.Dir, "dir", "", "folder for checkpoints and curves; default: the name of -o with .run instead of .onnx")
	f.BoolVar(&c.Resume, "resume", false, "continue from the checkpoint in --dir, or the latest one of -o")
	f.BoolVar(&t.force, "force", false, "overwrite the run in --dir")
	f.BoolVar(&t.events, "tensorboard", false, "also write TensorBoard event files to --dir")
	f.BoolVar(&t.asStored, "as-stored", false, "execute the training stored in the file's training_info")
	f.BoolVar(&t.reset, "reset", false, "with --as-stored: run the file's initialization first")
	f.StringVar(&t.recipe, "recipe", "", "YAML file with values for these flags")
	f.BoolVar(&t.dryRun, "dry-run", false, "print all settings as a recipe, and do not train")
	f.BoolVar(&t.asJSON, "json", false, "print one JSON object per epoch, and one at the end; with --dry-run, the settings as one object")
	f.StringVarP(&t.output, "output", "o", "", "file to write the trained model to")
	return cmd
}

// off converts a setting that was given as 0 to optim.Off, and refuses negative ones.
func (t *training) off(cmd *cobra.Command) error {
	for name, x := range map[string]*float64{"lr": &t.settings.rate, "weight-decay": &t.settings.decay, "momentum": &t.settings.momentum} {
		if !(*x >= 0) {
			return fmt.Errorf("--%s %v: want 0 or more", name, *x)
		}
		if cmd.Flags().Changed(name) && *x == 0 {
			*x = optim.Off
		}
	}
	return nil
}

func (t training) run(ctx context.Context, w io.Writer, model string) (err error) {
	if err := t.configure(); err != nil {
		return err
	}
	if _, missing := os.Lstat(t.config.Dir); missing != nil && t.process.first() {
		defer func() {
			if err != nil && !errors.Is(err, disk.ErrOccupied) { // another process may have created it since
				dropSettings(t.config.Dir)
			}
		}()
	}
	if t.columnar() {
		several, err := t.severalAnswers(model)
		if err != nil {
			return err
		}
		if !several {
			return t.runTable(ctx, w, model)
		}
		t.freePolicyForColumns()
	}
	g, err := t.load(model)
	if err != nil {
		return err
	}
	if err := t.widen(g); err != nil {
		return err
	}
	if err := freeBatch(g, cmp.Or(t.config.MicroBatch, t.config.Batch)); err != nil {
		return err
	}
	readLogits(t.config.Metrics, g)
	fit, val, err := t.divided(ctx, g)
	if err != nil {
		return err
	}
	if err := t.severalTargets(ctx, g, fit); err != nil {
		return err
	}
	if t.asJSON {
		t.tellNotes()
	}
	if err := t.prepare(g, fit); err != nil {
		return err
	}
	if err := t.tagging(g); err != nil {
		return err
	}
	return t.within(w, model, g, fit, val, func(fit, val data.Dataset[data.Sample]) error {
		save := func() error { return t.save(g) }
		if t.policy != "manual" {
			return t.fineTune(ctx, w, g, fit, val, save)
		}
		history, err := t.fit(ctx, w, g, fit, val)
		if err != nil {
			return err
		}
		if err := save(); err != nil {
			return err
		}
		return t.conclude(w, history)
	})
}

// severalTargets sets up training on several targets. A linear classifier cannot be fitted to them first.
func (t *training) severalTargets(ctx context.Context, g *nn.Graph, fit data.Dataset[data.Sample]) error {
	if fit.Len() == 0 {
		return nil
	}
	s, err := fit.At(0, data.Rand(t.seed, 0, 0))
	if err != nil || len(s.Y) < 2 {
		return err
	}
	if t.config.Loss == nil {
		note := func(e train.Event) { t.notes = append(t.notes, e.Text) }
		f := train.FineTuner{Config: train.Config{Seed: t.seed, Log: note}}
		if t.config.Loss, err = f.Balance(ctx, g, fit); err != nil {
			return err
		}
	}
	if t.policy == "manual" {
		return nil
	}
	if t.policy == "head-only" {
		return fmt.Errorf("--policy head-only is for one target, the data have %d: --freeze keeps layers from being trained", len(s.Y))
	}
	t.notes = append(t.notes, fmt.Sprintf("%d targets: the sum of their losses is trained", len(s.Y)))
	return nil
}

// configure completes the configuration from the flags.
func (t *training) configure() error {
	c := &t.config
	if err := t.settlePlaces(); err != nil {
		return err
	}
	if c.Monitor != "" && !slices.Contains(monitors, c.Monitor) {
		return fmt.Errorf("--monitor %s: want a figure of the validation: %s", c.Monitor, strings.Join(monitors, ", "))
	}
	if err := t.addLossAndMetrics(); err != nil {
		return err
	}
	if t.asJSON || !t.process.first() {
		c.Log = train.Quiet
	}
	if t.policy != "manual" {
		return nil
	}
	return t.byHand()
}

// addLossAndMetrics adds the loss and metrics that the flags name.
func (t *training) addLossAndMetrics() error {
	c := &t.config
	for _, n := range []struct {
		flag         string
		value, least int
	}{{"epochs", c.Epochs, 0}, {"batch", c.Batch, 0}, {"micro-batch", c.MicroBatch, 0}, {"accumulate", c.Accumulate, 1}, {"patience", c.Patience, 0}, {"keep", c.Keep, 0}, {"workers", c.Workers, 0}} {
		if n.value < n.least {
			return fmt.Errorf("--%s %d: want %d or more", n.flag, n.value, n.least)
		}
	}
	c.Seed = t.seed
	if t.loss != "" {
		var err error
		if c.Loss, err = choose("loss", t.loss, losses); err != nil {
			return err
		}
	}
	if t.smoothing != 0 {
		if t.loss != "" && !strings.EqualFold(t.loss, "cross-entropy") {
			return fmt.Errorf("--label-smoothing is for cross-entropy, not %s", t.loss)
		}
		c.Loss = train.CrossEntropy{LabelSmoothing: t.smoothing}
	}
	var err error
	c.Metrics, err = chosenMetrics(t.metrics)
	return err
}

// byHand completes the configuration of a run without a policy.
func (t *training) byHand() error {
	c := &t.config
	c.RestoreBest = true
	c.Epochs, c.Batch = cmp.Or(c.Epochs, 10), cmp.Or(c.Batch, 32)
	rule, err := choose("optimizer", t.optimizer, rules)
	if err != nil {
		return err
	}
	c.Rule = rule(t.settings)
	if word := strings.ToLower(t.optimizer); t.settings.momentum != 0 && word != "sgd" && word != "rmsprop" {
		return fmt.Errorf("--momentum is for sgd and rmsprop, %s has its own", word)
	}
	if c.Schedule, err = choose("schedule", t.schedule, schedules); err != nil {
		return err
	}
	if strings.EqualFold(t.schedule, "plateau") {
		c.Plateau = &optim.Plateau{}
	}
	if !(t.warmup >= 0 && t.warmup < 1) {
		return fmt.Errorf("--warmup %v: want a fraction of the run, from 0 to below 1", t.warmup)
	}
	if t.warmup > 0 {
		c.Schedule = optim.Warmup{Share: t.warmup, Then: c.Schedule}
	}
	return nil
}

// announce prints what is trained on.
func (t training) announce(w io.Writer, fit, val data.Dataset[data.Sample]) {
	for _, note := range t.notes {
		fmt.Fprintln(w, note)
	}
	fmt.Fprintf(w, "%d samples to train on, %d to validate", fit.Len(), val.Len())
	if t.classes != nil {
		fmt.Fprintf(w, "; classes: %s", brief(t.classes))
	}
	fmt.Fprintln(w)
	if s := t.unevenness(fit, t.balanced || t.weights != ""); s != "" {
		fmt.Fprintln(w, s)
	}
	if t.prepared != nil {
		fmt.Fprint(w, t.preparation())
	}
}

// fit trains. After an interruption it prints how to resume.
func (t training) fit(ctx context.Context, w io.Writer, g *nn.Graph, fit, val data.Dataset[data.Sample]) (train.History, error) {
	trainer, err := train.New(g, t.config)
	if err != nil {
		return nil, err
	}
	if err := t.keepDivision(division{t.seed, fit.Len(), val.Len()}); err != nil {
		return nil, err
	}
	for epoch, err := range trainer.Epochs(ctx, fit, val) {
		if err != nil {
			return nil, t.interruption(ctx, err)
		}
		if t.asJSON {
			if err := json.NewEncoder(w).Encode(epoch); err != nil {
				return nil, err
			}
		}
	}
	return trainer.History(), nil
}

// conclude prints which epoch was saved, and the paths of the results.
func (t training) conclude(w io.Writer, h train.History) error {
	best := h.Best()
	if t.asJSON {
		end := map[string]any{"model": t.output, "dir": t.config.Dir, "epochs": len(h), "best": best}
		if t.blend != nil {
			end["blend"] = t.blend
		}
		return json.NewEncoder(w).Encode(end)
	}
	best.Best = false // the line reports it already
	also := ""
	if t.blend != nil {
		also = fmt.Sprintln(t.blend)
	}
	_, err := fmt.Fprintf(w, "best is %v\n%s%s\n", best, also, t.written())
	return err
}
